// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/sort/shard_sort.hpp"

namespace shardmark::kernels {

/// Holds the distinct ids of shards whose ids are keys, ShardBlocks::keys, between find_shard_keys and place_keys.
template <class Exec>
struct ShardKeys {
  ConstArray<Exec, ShardBlocks> shards;
  ConstArray<Exec, GradientBlock> blocks;
  ConstArray<Exec, std::int64_t> offsets;
  Array<Exec, std::int64_t> ids;           ///< where they are sorted, where their gradients begin in their stead
  Array<Exec, std::int64_t> first_id;      ///< [shards + 1]
  Array<Exec, std::int64_t> counts;        ///< [shards] of distinct keys
  Array<Exec, std::int64_t> keys, places;  ///< [ids] those of shard s from first_id(s) on, ascending; their rows
  Array<Exec, std::uint32_t> of_keys;      ///< [ids] by key whether an id names it, then its place; of marked ones
  Array<Exec, std::uint64_t> words, other;
  int id_bits = 0, position_bits = 0;
};

template <class Exec>
struct ShardKeysWorkspace {
  Scratch<Exec, std::int64_t> shards{"shardmark::shards_of_keys"}, keys{"shardmark::shard_keys"},
      places{"shardmark::shard_places"};
  Scratch<Exec, std::uint32_t> of_keys{"shardmark::marked_keys"};
  Scratch<Exec, std::uint64_t> words{"shardmark::key_words"}, other{"shardmark::placed_words"};
};

/// Finds the distinct keys of each shard whose ids are keys, by one thread of the host, as sort_shards sorts rows, and
/// takes what that takes. Where the gradients of few rows are to be added up, keys are marked; others are sorted, once
/// for lookup and update. The result lives in `workspace`.
template <class Exec>
ShardKeys<Exec> find_shard_keys(const Exec& exec, ConstArray<Exec, ShardBlocks> shards,
                                ConstArray<Exec, GradientBlock> blocks, ConstArray<Exec, std::int64_t> offsets,
                                Array<Exec, std::int64_t> ids, std::int64_t count, std::int64_t key_bound,
                                ConstArray<Exec, float> gradients, ShardKeysWorkspace<Exec>& workspace);

/// Replaces the keys among the ids by their places, which the caller has set: local rows below ShardBlocks::rows,
/// distinct but for the largest, which several keys may share. Returns for each shard that sort_shards is to list,
/// from its first id on, its words by place and gradient: equal ones adjacent, positions of one in their order unless
/// keys share it. The result lives in the workspace of `keys`.
template <class Exec>
ConstArray<Exec, std::uint64_t> place_keys(const Exec& exec, const ShardKeys<Exec>& keys);

}  // namespace shardmark::kernels
