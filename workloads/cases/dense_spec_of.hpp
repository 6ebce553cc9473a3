// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include "reference/dense/dense_spec.hpp"
#include "workloads/cases/spec.hpp"

namespace shardmark::workloads {

/// Returns the model of a workload, behind its features as they are now; with another `kind` than the published one,
/// with the layers of that. Throws InputError naming the workload when it describes no layers, or none of this kind
/// (check_dense).
inline DenseSpec dense_spec_of(const Workload& workload, DenseKind kind) {
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

/// Returns the model as it was published. The workload has one.
inline DenseSpec published_dense(const Workload& workload) { return dense_spec_of(workload, workload.dense->kind); }

}  // namespace shardmark::workloads
