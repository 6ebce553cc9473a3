// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reference/oracle.hpp"
#include "workloads/batches/step_input.hpp"

namespace shardmark::workloads {

/// Holds the expected outputs of one feature: [bags], of which those that pool the same rows with the same weights
/// share one vector [dim]. So the outputs of popular rows, most of a batch with one id per bag, take little memory.
class ExpectedOutputs {
 public:
  /// Looks up the samples `own` of the batch.
  ExpectedOutputs(reference::Oracle& oracle, const Batch& batch, std::int64_t number, const Feature& feature,
                  SampleRange own, std::int64_t dim);

  std::int64_t bags() const { return std::ssize(vector_of_); }
  std::int64_t dim() const { return dim_; }
  std::span<const float> values(std::int64_t bag) const {
    return reference::row_of(expected_.values, vector_of_[bag], dim_);
  }
  std::span<const float> bounds(std::int64_t bag) const {
    return reference::row_of(expected_.bounds, vector_of_[bag], dim_);
  }

 private:
  std::int64_t dim_;
  std::vector<std::int64_t> vector_of_;  ///< [bags]
  reference::Expected expected_;
};

}  // namespace shardmark::workloads
