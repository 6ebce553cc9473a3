// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/sort/shard_sort.hpp"

namespace shardmark::kernels {

/// Numbers the distinct keys of a step, any of the 2^64 integers, by their first positions: the same for any number of
/// threads. What sorts takes these numbers, since a key and a position do not fit into one word.
template <class Exec>
class KeyNumbers {
 public:
  /// Numbers the keys of the positions whose tag is not below 0; keys of other tags are others. tags, keys: [n], n
  /// below 2^32 - 1; read until the next call, too. Returns how many distinct ones there are; results are valid until
  /// the next call. Waits for the device.
  std::int64_t find(const Exec& exec, ConstArray<Exec, std::int32_t> tags, ConstArray<Exec, std::int64_t> keys);

  /// Returns by position the number of its key; of other positions any number.
  ConstArray<Exec, std::int64_t> numbers() const { return numbers_of_; }
  /// Returns the distinct keys by number.
  ConstArray<Exec, std::int64_t> distinct() const { return distinct_of_; }

  /// Does the same for the ids of shards that are keys (ShardBlocks::keys is not 0), in the order of the shards, so
  /// that the keys of a shard have consecutive numbers. blocks, offsets, ids: as of sort_shards; count: ids of all
  /// shards. Sets begins, [shards + 1], to the number of the first key of each shard.
  void find_in_shards(const Exec& exec, ConstArray<Exec, ShardBlocks> shards, ConstArray<Exec, GradientBlock> blocks,
                      ConstArray<Exec, std::int64_t> offsets, ConstArray<Exec, std::int64_t> ids, std::int64_t count,
                      std::vector<std::int64_t>& begins);
  /// Sets ids that are keys, those that find_in_shards took, to places [number of the key].
  void place(const Exec& exec, ConstArray<Exec, std::int64_t> places, Array<Exec, std::int64_t> ids) const;

 private:
  Scratch<Exec, std::uint32_t> cells_{"shardmark::key_cells"}, cell_of_{"shardmark::cells_of_positions"};
  Scratch<Exec, std::int64_t> numbers_{"shardmark::key_numbers"}, distinct_{"shardmark::distinct_keys"};
  Scratch<Exec, std::int32_t> tags_of_distinct_{"shardmark::tags_of_distinct_keys"};
  ConstArray<Exec, std::int64_t> numbers_of_, distinct_of_;

  // find_in_shards keeps, in the order of the shards:
  Scratch<Exec, std::int32_t> tags_{"shardmark::key_tags"};
  Scratch<Exec, std::int64_t> keys_{"shardmark::keys_by_shard"}, at_{"shardmark::positions_by_shard"},
      firsts_{"shardmark::first_keys_by_shard"};
  ConstArray<Exec, std::int32_t> tags_of_;
  ConstArray<Exec, std::int64_t> at_of_;
};

}  // namespace shardmark::kernels
