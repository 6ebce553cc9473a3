// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/update/row_sums.hpp"

namespace shardmark::kernels {

/// Sums the gradient of every distinct row (see RowGradients: order, precision) and applies its shard's optimizer in
/// place. Rows are updated in parallel, each by one thread, so the bits are equal for any number of threads. Shards of
/// different dims, value types and optimizers go in one call; each row must lie inside the shard its key falls into.
/// The new value is computed in fp32 and rounded once, to nearest or stochastically.
///   given: for tables split by columns, the completed sums of row_sums.
template <class Exec>
void fused_update(const Exec& exec, const RowGradients<Exec>& gradients, const ShardList<Exec, UpdateShard>& shards,
                  const UpdateStep& step, RowGradientsWorkspace<Exec>& workspace, const RowSums<Exec>& given = {});

}  // namespace shardmark::kernels
