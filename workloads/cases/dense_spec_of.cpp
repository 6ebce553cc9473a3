// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/dense_spec_of.hpp"

#include <fmt/format.h>

namespace shardmark::workloads {

DenseSpec dense_spec_of(const Workload& workload, DenseKind kind) {
  if (!workload.dense)
    throw InputError(fmt::format("workload {} describes no layers for dense model {}; give a spec with \"dense\"",
                                 workload.name, name_of(kind)));
  DenseSpec spec = *workload.dense;
  spec.kind = kind;
  spec.widths = output_widths(workload);
  try {
    check_dense(spec);
  } catch (const InputError& error) {
    throw InputError(fmt::format("workload {}: {}", workload.name, error.what()));
  }
  return spec;
}

}  // namespace shardmark::workloads
