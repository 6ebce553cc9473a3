// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "comm/communicator.hpp"
#include "datasets/sample_source.hpp"
#include "kernels/route/bucketize.hpp"
#include "reference/row_values.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/cases/spec.hpp"

namespace shardmark::workloads {

/// Names the samples of one rank in a global batch: an even split, the first ranks one sample longer.
struct SampleRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
inline SampleRange samples_of(std::int64_t global_batch, int ranks, int rank) {
  const std::int64_t share = global_batch / ranks, longer = global_batch % ranks;
  return {rank * share + std::min<std::int64_t>(rank, longer), share + (rank < longer ? 1 : 0)};
}

/// Holds one global batch as a rank sees it, ready for a step: its own samples' ids, and the gradients that the dense
/// model would return for them. Its bags are those of reference::for_each_bag: a feature without pooling has a bag per
/// id, one of segment rank 1 a bag per segment.
struct StepInput {
  std::vector<std::int64_t> first_bag;      ///< [features + 1]: where the bags of each feature begin
  std::vector<std::int64_t> first_element;  ///< [features + 1]: where the vectors [bags, dim] of each feature begin
  std::vector<std::int64_t> ids;            ///< [features]: how many
  std::vector<bool> divided;  ///< [features]: a bag has a divisor (kernels::bag_divisor) other than 0 and 1
  kernels::Bags<Execution, std::int64_t> bags;
  DeviceArray<float> gradients;      ///< [first_element.back()], of the pooled outputs, where no dense model makes them
  DeviceArray<float> numerical;      ///< [samples, numerical features] of the BatchSource; may be empty without a model
  DeviceArray<float> labels;         ///< [samples], 0 or 1; likewise
  std::int64_t global_samples = 0;   ///< of all ranks together
  std::int64_t global_ids = 0;       ///< of all ranks together
  std::int64_t global_replaced = 0;  ///< of these, were outside their table (BoundsCheck::warn, fold)
  bool weighted = false;             ///< any rank's ids have weights; those of a rank without ids cannot tell

  std::int64_t bags_of(std::size_t feature) const { return first_bag[feature + 1] - first_bag[feature]; }
  std::int64_t elements() const { return first_element.back(); }
};

/// Makes the input of a step. Collective (global_ids). `samples`: this rank's, the first of which has number `first` in
/// the global batch; `step` keys the gradients. earlier: the inputs of steps 0, 1, …, of which it takes its gradients
/// where they have the same (GradientValues) for as many vectors.
StepInput make_step_input(const comm::Communicator& comm, const Workload& workload, const datasets::Samples& samples,
                          std::int64_t first, std::int64_t step, const GradientValues& gradients,
                          std::span<const StepInput> earlier = {});

}  // namespace shardmark::workloads
