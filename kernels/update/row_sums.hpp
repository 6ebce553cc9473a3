// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/update/update_shard.hpp"

namespace shardmark::kernels {

/// Holds the completed sums of row_sums, for tables split by columns: values[u * per_row + k] is sum k of distinct row
/// u. fused_update reads them for shards that hold only some of the columns of their table; `values` is empty where
/// there are none.
template <class Exec>
struct RowSums {
  ConstArray<Exec, double> values;
  std::int64_t per_row = 1;
};

/// Sets sums[u * per_row + k] to sum k that the optimizer of distinct row u needs, over the columns held here, in
/// double:
///   rowwise_adagrad, rowwise_adam  sum of g^2 (with l2 weight decay in g)
///   lamb                           sum of w^2, sum of r^2
/// for tables split by columns, whose holders add their sums before fused_update. Rows of whole tables, and of
/// optimizers that need no sums, get none. Changes neither rows nor state. sums: [positions * per_row]; per_row >=
/// row_sum_count of every shard that holds only some columns.
template <class Exec>
void row_sums(const Exec& exec, const RowGradients<Exec>& gradients, const ShardList<Exec, UpdateShard>& shards,
              const UpdateStep& step, RowGradientsWorkspace<Exec>& workspace, Array<Exec, double> sums,
              std::int64_t per_row);

/// Points to the sums that one holder of columns has of some rows.
struct RowSumTerms {
  const double* terms;
};

/// Sets `total` to the sum of the terms of all holders, added in their order; each is as long as `total`, which may be
/// one of them.
template <class Exec>
void add_row_sums(const Exec& exec, ConstArray<Exec, RowSumTerms> holders, Array<Exec, double> total);

}  // namespace shardmark::kernels
