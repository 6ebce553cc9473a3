// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/expand_positions.hpp"
#include "kernels/unique_rows.hpp"

namespace shardmark::kernels {

/// The blocks of bags of a shard, blocks[first_block .. first_block + count) of a list that is ordered by shard.
struct ShardBlocks {
  std::int64_t first_key = 0;
  std::int64_t rows = 0;
  std::int64_t first_block = 0;
  std::int64_t blocks = 0;
};

/// unique_rows of the keys and gradient offsets that expand_positions gives, without writing either: each shard's ids
/// become words and are sorted by local row, by one thread, in an eighth of the memory, which its caches hold. For as
/// many shards as keep the threads busy. Blocks pool by sum, so all ids of a bag share a gradient.
///   shards: by ascending first_key;  blocks: in the order of the shards, those of one in the order of their bags
///   offsets, indices: of all bags
///   position_bound: above all gradient offsets
/// The result lives in `workspace`. Throws InputError as unique_rows does.
template <class Exec>
UniqueRows<Exec> sort_shards(const Exec& exec, ConstArray<Exec, ShardBlocks> shards,
                             ConstArray<Exec, GradientBlock> blocks, ConstArray<Exec, std::int64_t> offsets,
                             ConstArray<Exec, std::int64_t> indices, std::int64_t ids, std::int64_t key_bound,
                             std::int64_t position_bound, UniqueRowsWorkspace<Exec>& workspace);

}  // namespace shardmark::kernels
