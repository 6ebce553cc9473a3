// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "reference/batch.hpp"
#include "reference/rounding.hpp"
#include "reference/touched_table.hpp"
#include "reference/wire_rounding.hpp"

namespace shardmark::reference {

/// Is the gradient of one value, summed over the batch; `uncertain`: by how much it may differ for another reason than
/// rounding.
struct GradientSum {
  BoundedSum sum;
  double uncertain = 0.0;
};

/// Holds the gradients of the rows that one step touches in one table, summed over all features and samples.
class RowGradients {
 public:
  explicit RowGradients(std::int64_t dim) : dim_(static_cast<std::size_t>(dim)) {}

  /// Returns the sums of the row in `slot`, [dim].
  std::span<GradientSum> of(std::int64_t slot);

  const std::vector<std::int64_t>& slots() const { return slots_; }  ///< of the TouchedTable, in order of first touch

 private:
  std::size_t dim_;
  std::vector<std::int64_t> number_of_;  ///< slot -> place in slots_, or -1
  std::vector<std::int64_t> slots_;
  std::vector<GradientSum> sums_;  ///< [slots, dim]
};

/// Writes the gradient of one bag's output, [dim], and by how much it may differ, which is 0 before.
using BagGradients =
    std::function<void(std::int64_t feature, const Bag& bag, std::span<float> gradient, std::span<float> bounds)>;

/// Returns the gradients of step number `step`, known to the last bit.
BagGradients bag_gradients(const GradientValues& gradients, std::int64_t step);

/// Sums the gradients of the rows: every row that an id of the batch names is there, with a gradient of 0 if it gets
/// none.
RowGradients sum_gradients(TouchedTable& table, const std::vector<Feature>& features, const BagGradients& gradients,
                           const Batch& batch, WireTypes wire = {});

/// Is one w_i x_i of a bag that is pooled by max: in fp32, and by how much it may differ.
struct MaxTerm {
  double product, error;
};

/// Returns the terms of column c of a bag, whose rows or whose maximum travel in `wire`. slots [ids]: of its rows.
std::vector<MaxTerm> max_terms(const TouchedTable& table, std::span<const std::int64_t> slots,
                               std::span<const float> weights, std::size_t c, ValueType wire);

/// Returns the maximum over columns of |value| + bound.
double largest_magnitude(const TouchedTable& table, std::int64_t slot);

}  // namespace shardmark::reference
