// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "datasets/sample_source.hpp"
#include "workloads/cases/options.hpp"

namespace shardmark::workloads {

/// Where global batches come from: the same ids on every number of ranks.
class BatchSource {
 public:
  virtual ~BatchSource() = default;

  /// Samples [first, first + count) of global batch number `step`; their numerical features as a dense model takes
  /// them, where the options ask for one.
  virtual datasets::Samples read(std::int64_t step, std::int64_t first, std::int64_t count) = 0;
  /// After which they come again; absent: never.
  virtual std::optional<std::int64_t> samples() const = 0;
};

/// The generator of the workload, or the data file of the options, checked as the options say. `notice` is told what
/// the user should know of the data. Threads may read at the same time. Throws
/// InputError naming the file when it cannot be used for the workload's tables.
std::unique_ptr<BatchSource> make_batch_source(const RunOptions& options, const datasets::Notice& notice);

}  // namespace shardmark::workloads
