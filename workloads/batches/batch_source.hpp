// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "datasets/sample_source.hpp"
#include "kernels/route/bounds_check.hpp"
#include "workloads/cases/options.hpp"

namespace shardmark::workloads {

/// Gives global batches: the same ids on every number of ranks.
class BatchSource {
 public:
  virtual ~BatchSource() = default;

  /// Returns samples [first, first + count) of global batch number `step`; their numerical features as a dense model
  /// takes them, where the options select one.
  virtual datasets::Samples read(std::int64_t step, std::int64_t first, std::int64_t count) = 0;
  /// Returns the number of samples after which they come again; absent: they never do.
  virtual std::optional<std::int64_t> samples() const = 0;
};

/// Makes the generator of the workload, or the reader of the data file of the options, checked as the options say.
/// `notice` receives what the user should know of the data. Threads may read at the same time. Throws InputError naming
/// the file when it cannot be used for the workload's tables.
std::unique_ptr<BatchSource> make_batch_source(const RunOptions& options, const datasets::Notice& notice);

/// Returns batches of `source` after kernels::check_bags.
///   on    throws InputError naming feature, sample and value of the first bad id or weight, or of broken offsets
///   warn  reports to `notice` once per batch, and uses row 0 for bad ids; broken offsets still throw
///   fold  the same, but folds bad ids into their table
/// keys [features]: those of each feature's table. With BoundsCheck::off, `source` itself is returned.
std::unique_ptr<BatchSource> checked(std::unique_ptr<BatchSource> source, kernels::BoundsCheck mode,
                                     std::vector<KeyRange> keys, const datasets::Notice& notice);

}  // namespace shardmark::workloads
