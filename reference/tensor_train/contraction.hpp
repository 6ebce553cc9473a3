// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/tensor_train/shape.hpp"

namespace shardmark::reference {

/// Names a slice of each core, of which the first `cores` are used: [r_t][q_t][r_(t+1)].
using Slices = std::array<std::span<const double>, TensorTrainShape::most_cores>;
using SliceGradients = std::array<std::span<double>, TensorTrainShape::most_cores>;

/// Computes one row of a tensor train and its gradients, by the definition (FBTT-Embedding), in double. Q_t = q_0 ..
/// q_(t-1):
///   X_0 = G_0, [q_0][r_1];   X_t = X_(t-1) G_t, [Q_t][r_t] times [r_t][q_t r_(t+1)];   the row is X_(cores-1).
class RowContraction {
 public:
  explicit RowContraction(const TensorTrainShape& shape);

  /// Returns the row of these slices, [dim], until the next call. kept: X_0 .. X_(kept-1) are those of the call before,
  /// whose leading slices were the same and had the same values.
  std::span<const double> row(const Slices& slices, int kept = 0);

  /// Adds to `sums` the gradients of the slices of the latest row, given the gradient of the row, [dim]. From the last
  /// core on, dX_(cores-1) being that of the row: dG_t += X_(t-1)^T dX_t, dX_(t-1) = dX_t G_t^T; dG_0 += dX_0.
  void add_gradients(std::span<const double> gradient, const SliceGradients& sums);

 private:
  TensorTrainShape shape_;
  Slices slices_;
  std::array<std::int64_t, TensorTrainShape::most_cores> columns_{};                    ///< Q_t
  std::array<std::vector<double>, TensorTrainShape::most_cores> products_, gradients_;  ///< X_t and dX_t
};

/// Returns all rows of a table, [shape.rows()][shape.dim()], padding included, from its cores [p_t][r_t][q_t][r_(t+1)].
std::vector<double> full_table(const TensorTrainShape& shape, const std::vector<std::vector<double>>& cores);

/// Returns the mirror image of a tensor train: cores in reverse order. Its rows and columns are those of the original
/// with their digits in reverse order, so that contracting it from its first core on contracts the original from its
/// last one.
constexpr TensorTrainShape mirrored(const TensorTrainShape& shape) {
  TensorTrainShape mirrored = shape;
  std::reverse(mirrored.p.begin(), mirrored.p.begin() + shape.cores);
  std::reverse(mirrored.q.begin(), mirrored.q.begin() + shape.cores);
  std::reverse(mirrored.r.begin(), mirrored.r.begin() + shape.cores + 1);
  return mirrored;
}

/// Returns the row of the mirror image that is row `row` of the original.
constexpr std::int64_t mirrored_row(const TensorTrainShape& shape, std::int64_t row) {
  std::int64_t reversed = 0;
  for (int t = shape.cores - 1; t >= 0; --t) {
    reversed = reversed * shape.p[t] + row % shape.p[t];
    row /= shape.p[t];
  }
  return reversed;
}

/// Counts how many different digits i_0 .. i_t some rows have, by t.
using PrefixCounts = std::array<std::int64_t, TensorTrainShape::most_cores>;

/// Counts the different prefixes of `rows`: ascending, without repetition.
constexpr PrefixCounts count_prefixes(const TensorTrainShape& shape, std::span<const std::int64_t> rows) {
  PrefixCounts counts{};
  std::int64_t below = 1;  // rows that share their digits i_0 .. i_t
  for (int t = shape.cores - 1; t >= 0; --t) {
    std::int64_t last = -1;
    for (const std::int64_t row : rows) {
      counts[t] += row / below != last;
      last = row / below;
    }
    below *= shape.p[t];
  }
  return counts;
}

/// Returns the flops of applying core t to one product of the cores before it, 2 q_0 .. q_t r_t r_(t+1); 0 for core 0.
constexpr std::int64_t core_flops(const TensorTrainShape& shape, int t) {
  std::int64_t columns = t == 0 ? 0 : 1;
  for (int s = 0; s <= t; ++s) columns *= shape.q[s];
  return 2 * columns * shape.r[t] * shape.r[t + 1];
}

/// Returns the flops of contracting rows with so many different prefixes, each of which is computed once.
constexpr std::int64_t forward_flops(const TensorTrainShape& shape, const PrefixCounts& prefixes) {
  std::int64_t flops = 0;
  for (int t = 1; t < shape.cores; ++t) flops += prefixes[t] * core_flops(shape, t);
  return flops;
}

/// Returns the flops of the gradients of their slices: of the slice and of the product before it, where a core was
/// applied; and of computing all products but the rows and core 0 again.
constexpr std::int64_t backward_flops(const TensorTrainShape& shape, const PrefixCounts& prefixes) {
  std::int64_t flops = 2 * forward_flops(shape, prefixes);
  for (int t = 1; t + 1 < shape.cores; ++t) flops += prefixes[t] * core_flops(shape, t);
  return flops;
}

/// Returns the flops by the usual count for so many lookups forward and backward: each on its own, backward twice as
/// much as forward.
constexpr std::int64_t nominal_flops(const TensorTrainShape& shape, std::int64_t lookups) {
  PrefixCounts each{};
  each.fill(lookups);
  return 3 * forward_flops(shape, each);
}

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::PrefixCounts, reference::backward_flops, reference::count_prefixes, reference::forward_flops,
    reference::mirrored, reference::mirrored_row, reference::nominal_flops;
}  // namespace shardmark
