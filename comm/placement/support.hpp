// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/traffic/movement.hpp"
#include "reference/table.hpp"

namespace shardmark::placement {

/// Throws InputError that names plan, table or feature and the reason, unless a training step can do what tables,
/// stored as the plan says, features and plan ask for:
///   - int8 rows can be looked up, not trained: their optimizer must be `none`; the cores of a tensor train are never
///     int8, whose scale and offset are those of a row and would not survive products of slices;
///   - a tensor train has cores that fit it (tensor_train/shape.hpp) and is not split by rows or columns or into hot
///     rows and others, since each of its rows is made of all cores; where it is replicated, cached rows are copies
///     (CacheWrites::read_only), because trained ones would be other rows on other ranks;
///   - max pooling needs whole bags where it pools: no shard of its table may lack rows, unless the transfer brings the
///     rows to the bags, and no rows may be hot;
///   - a transfer that adds partial sums on their way adds one of each rank, in fp32: no rank may hold two row shards
///     of the same columns, and where rows are split no wire type may be narrow;
///   - an optimizer that sums over whole rows needs the same row split in every column range;
///   - a dedup other than off and auto needs a transfer that sends rows.
void require_supported(const Plan& plan, const std::vector<Table>& tables, const std::vector<Feature>& features,
                       const Movement& movement);

/// Returns all that require_supported() would throw one after the other.
std::vector<std::string> unsupported(const Plan& plan, const std::vector<Table>& tables,
                                     const std::vector<Feature>& features, const Movement& movement);

}  // namespace shardmark::placement
