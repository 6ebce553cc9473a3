// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/touched_table.hpp"

namespace shardmark::reference {

/// Holds the gradient of one row of a table, [dim] each: its sum over the batch, the sum of the magnitudes of its
/// terms, and by how much it may differ.
struct BoundedGradient {
  std::vector<double> value, magnitude, error;
};

/// Counts the flops of computing rows, forward, and of the gradients of what they are computed from.
struct LookupFlops {
  double forward = 0.0, backward = 0.0;
};

/// Returns the expected number of distinct values among `drawn` draws of `all` equally likely ones: all (1 - (1 - 1 /
/// all)^drawn).
inline double expected_distinct(double all, double drawn) {
  return -all * std::expm1(drawn * std::log1p(-1.0 / std::max(all, 1.0 + 1e-9)));
}

/// Is a table whose rows are computed from those of its parts (StorageChoice::parts), which are what is trained.
class ComputedRows {
 public:
  virtual ~ComputedRows() = default;

  /// Returns the parts, by number, with the rows that were touched.
  virtual std::span<const TouchedTable> parts() const = 0;

  /// Writes the values of a row and their bounds, [dim].
  virtual void row(std::int64_t row, std::span<float> values, std::span<float> bounds) = 0;

  /// Adds the gradient that step number `step` (from 1) gives to a row that its batch names `uses` times: call it once
  /// for each such row, in ascending order.
  virtual void add_gradient(std::int64_t row, std::int64_t uses, const BoundedGradient& gradient,
                            std::int64_t step) = 0;
  /// Updates the parts by what was added.
  virtual void finish(std::int64_t step) = 0;
};

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::ComputedRows, reference::LookupFlops, reference::expected_distinct;
}  // namespace shardmark
