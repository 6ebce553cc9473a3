// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reference/row_values.hpp"
#include "reference/tensor_train/shape.hpp"

namespace shardmark::reference {

/// Returns the initial entries of core t of table number `table_number`, [p[t]][r[t]][q[t]][r[t + 1]] in fp32 before
/// they are rounded to the value type of the table. They are a pure function of (values.seed, table_number, t, slice,
/// element), so the same on every rank. With E = table.rows, D = table.dim, d cores, R = r[1] .. r[d - 1]; E and D
/// without padding:
///   scaled          uniform in +-sqrt(3 v), v = (sigma^2 / R)^(1/d), which makes the variance of every entry of the
///                   table sigma^2 = tensor_train.variance, or where that is 0 the scale^2 / 3 of dense tables
///   uniform         U(0, s), s = (2 / (E + D))^(1/2d) R^(-1/2d): entries have the mean s^d R / 2^d, not 0
///   normal          N(0, 1/E), whatever d and the ranks: entries have the variance R E^-d
///   approx_normal   N(0, 1) where at least 2 from 0 (variance 5.746), times (3 E)^(-1/6): entries have the variance
///                   R (5.746 (3 E)^(-1/3))^d, for three cores 5.746^3 R times the intended 1 / (3 E)
///   approx_uniform  of three cores, times E^(-1/6) each: the first and second N(1 / sqrt(r[t]'), 0.01^2) with r[t]' =
///                   r[1]; in the second, per (slice, column), one even last index holds N(0, (0.01^2 sqrt(r[1]))^2)
///                   and one tooth times sqrt(r[1]); the third N(0, 0.01^2), per (slice, column) one odd first index a
///                   tooth; a tooth is k / 15 + U(+-0.7 / 60) with k = -14 .. 14. Entries are nearly U(+-sqrt(1 / E)).
/// All but the first are FBTT-Embedding's (tt_embeddings_ops.py, reset_parameters). In exact mode (values.unit > 0)
/// entries of cores are -1, 0 or 1 times exact_core_unit() instead. Else they are those of tensor_train.imported, where
/// there are any.
std::vector<float> initial_core(const Table& table, const TensorTrainShape& shape, std::int64_t table_number, int t,
                                const RowValues& values);

/// Returns the power of two that brings the standard deviation of the entries of the table, unit^d sqrt(R (2/3)^d),
/// nearest to that of exact dense tables, `row_unit` times 64 / sqrt(3). All sums of the products are exact while cores
/// keep it.
float exact_core_unit(const TensorTrainShape& shape, float row_unit);

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::initial_core;
}  // namespace shardmark
