// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"
#include "reference/pooling.hpp"
#include "reference/value_type.hpp"

namespace shardmark::kernels {

/// Describes a run of consecutive bags that read one shard and write vectors at a constant distance.
/// Partial bags of a shard take Pooling::sum (their divisor is applied at home, see divide_by_bag); mean and sqrtn
/// divide by the bag as it stands here. Pooling::none writes one vector per id, the first bag's first id at `output`.
struct LookupBlock {
  std::int64_t first_bag = 0;
  std::int64_t bags = 0;
  const void* rows = nullptr;  ///< [rows of the shard] of row_bytes(value_type, dim), back to back
  ValueType value_type = ValueType::fp32;
  std::int64_t dim = 0;
  std::int64_t output = 0;         ///< element of the first bag's vector
  std::int64_t output_stride = 0;  ///< elements from one vector to the next, at least dim and below 2^31
  Pooling pooling = Pooling::sum;
};

/// Pools all bags of a rank in one launch: bag b is indices[offsets[b] .. offsets[b + 1]), local rows of the shard of
/// its block; its rows, times their weights, are summed in bag order in fp32 (or their maximum is taken). An empty bag
/// gives 0. The result is deterministic: a column of a bag is pooled by one thread.
///   blocks:  in ascending order, together covering every bag once
///   offsets: [bags + 1] from 0;  indices: [nnz] int32 or int64;  weights: [nnz], or empty when every weight is 1
///   output:  apart from the rows; blocks may write before or behind it, to memory that lies at such a distance
template <class Exec, class Indices>
void pooled_lookup(const Exec& exec, ConstArray<Exec, LookupBlock> blocks, ConstArray<Exec, std::int64_t> offsets,
                   const Indices& indices, ConstArray<Exec, float> weights, const Array<Exec, float>& output);

}  // namespace shardmark::kernels
