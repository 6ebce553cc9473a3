// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/tensor_train/shape.hpp"

namespace shardmark::reference {

/// A slice of each core, of which the first `cores` are used: [r_t][q_t][r_(t+1)].
using Slices = std::array<std::span<const double>, TensorTrainShape::most_cores>;
using SliceGradients = std::array<std::span<double>, TensorTrainShape::most_cores>;

/// One row of a tensor train and its gradients, by the definition (FBTT-Embedding), in double. Q_t = q_0 .. q_(t-1):
///   X_0 = G_0, [q_0][r_1];   X_t = X_(t-1) G_t, [Q_t][r_t] times [r_t][q_t r_(t+1)];   the row is X_(cores-1).
class RowContraction {
 public:
  explicit RowContraction(const TensorTrainShape& shape);

  /// The row of these slices, [dim], until the next call. kept: X_0 .. X_(kept-1) are those of the call before, whose
  /// leading slices were the same and had the same values.
  std::span<const double> row(const Slices& slices, int kept = 0);

  /// Adds to `sums` the gradients of the slices of the latest row by the gradient of the row, [dim]. From the last core
  /// on, dX_(cores-1) being that of the row:  dG_t += X_(t-1)^T dX_t,  dX_(t-1) = dX_t G_t^T;  dG_0 += dX_0.
  void add_gradients(std::span<const double> gradient, const SliceGradients& sums);

 private:
  TensorTrainShape shape_;
  Slices slices_;
  std::array<std::int64_t, TensorTrainShape::most_cores> columns_{};                    ///< Q_t
  std::array<std::vector<double>, TensorTrainShape::most_cores> products_, gradients_;  ///< X_t and dX_t
};

/// All rows of a table, [shape.rows()][shape.dim()], padding included, from its cores [p_t][r_t][q_t][r_(t+1)].
std::vector<double> full_table(const TensorTrainShape& shape, const std::vector<std::vector<double>>& cores);

}  // namespace shardmark::reference
