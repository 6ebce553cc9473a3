// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/dense/dense_model.hpp"

#include "workloads/cases/dense_spec_of.hpp"
#include "workloads/step/dense/exact_model.hpp"
#include "workloads/step/dense/layered_model.hpp"

namespace shardmark::workloads {

std::unique_ptr<DenseModel> make_dense_model(const comm::Communicator& comm, const RunOptions& options) {
  const DenseKind kind = options.dense.kind;
  if (kind == DenseKind::none) return std::make_unique<SyntheticGradient>();
  if (kind == DenseKind::exact)
    return std::make_unique<ExactModel>(ExactHead{.seed = options.seed}, output_widths(options.workload));
  return std::make_unique<LayeredModel>(comm, dense_spec_of(options.workload, kind),
                                        options.dense.optimizer_of_weights(), options.seed);
}

}  // namespace shardmark::workloads
