// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "reference/tensor_train/shape.hpp"

namespace shardmark::datasets {

/// Holds the cores nearest to a dense table that successive singular value decompositions find.
struct DecomposedTable {
  TensorTrainShape shape;
  std::vector<std::vector<float>> cores;  ///< [cores][p[t]][r[t]][q[t]][r[t + 1]]
  double relative_error = 0.0;            ///< |table - cores| / |table| (Frobenius), before cores are rounded to fp32
};

/// Decomposes a table by TT-SVD (Oseledets, SIAM J. Sci. Comput. 33, 2011, algorithm 1): for each core the table,
/// unfolded into the digits of this core and of what is left, is replaced by its largest singular values, as many as
/// the rank. Shape and ranks are those of tensor_train_shape(table). values: [table.rows][table.dim]; rows that pad the
/// shape are 0. What is cut off is orthogonal to what stays and to what is cut off later, so that the squares of the
/// discarded singular values add up to that of the error, which is at most sqrt(cores - 1) times that of the best cores
/// of these ranks. It needs three times the padded table in doubles. Throws InputError naming the table.
DecomposedTable tt_svd(const Table& table, std::span<const float> values);

}  // namespace shardmark::datasets
