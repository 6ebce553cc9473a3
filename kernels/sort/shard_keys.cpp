// SPDX-License-Identifier: Apache-2.0
#include "kernels/sort/shard_keys.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/sort/shard_words.hpp"

namespace shardmark::kernels {

/// Does for one shard what find_shard_keys and place_keys do for all.
template <class Exec>
struct KeysOfShard {
  ShardKeys<Exec> all;

  struct Find {};
  struct Place {};

  KOKKOS_FUNCTION void operator()(Find, std::int64_t s) const {
    const ShardWords shard = of(s);
    if (shard.shard.keys == 0)
      all.counts(s) = 0;
    else
      all.counts(s) = shard.shard.adds(shard.count) ? mark(shard, first(s)) : sort(shard, first(s));
  }
  KOKKOS_FUNCTION void operator()(Place, std::int64_t s) const {
    const ShardWords shard = of(s);
    if (shard.shard.keys == 0) return;
    if (shard.shard.adds(shard.count))
      place_marked(shard, first(s), all.counts(s));
    else
      place_sorted(shard, first(s), all.counts(s));
  }

 private:
  KOKKOS_FUNCTION std::int64_t first(std::int64_t s) const { return all.first_id(s); }
  KOKKOS_FUNCTION ShardWords of(std::int64_t s) const {
    return {all.shards(s), all.first_id(s + 1) - all.first_id(s), all.id_bits};
  }
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_id(const ShardBlocks& shard, const Body& body) const {
    for (std::int64_t b = shard.first_block; b < shard.first_block + shard.blocks; ++b) {
      const GradientBlock& block = all.blocks(b);
      const std::int64_t end = all.offsets(block.first_bag + block.bags);
      for (std::int64_t i = all.offsets(block.first_bag); i < end; ++i) body(all.ids.data()[i]);
    }
  }

  KOKKOS_FUNCTION std::int64_t mark(const ShardWords& shard, std::int64_t first) const {
    std::uint32_t* const used = all.of_keys.data() + first;
    std::int64_t* const keys = all.keys.data() + first;
    for (std::int64_t key = 0; key < shard.shard.keys; ++key) used[key] = 0;
    for_each_id(shard.shard, [&](std::int64_t id) { used[id] = 1; });
    std::int64_t count = 0;
    for (std::int64_t key = 0; key < shard.shard.keys; ++key) {
      keys[count] = key;
      count += used[key];
    }
    return count;
  }
  KOKKOS_FUNCTION void place_marked(const ShardWords& shard, std::int64_t first, std::int64_t count) const {
    std::uint32_t* const places = all.of_keys.data() + first;
    for (std::int64_t u = first; u < first + count; ++u)
      places[all.keys(u)] = static_cast<std::uint32_t>(all.places(u));
    for_each_id(shard.shard, [&](std::int64_t& id) { id = places[id]; });
  }

  KOKKOS_FUNCTION std::int64_t sort(const ShardWords& of_shard, std::int64_t first) const {
    ShardWords shard = of_shard;
    shard.shard.first_key = 0;
    std::uint64_t* const words = all.words.data() + first;
    const auto fill = [&](std::uint64_t* to) {
      for_each_id(shard.shard, [&](std::int64_t& id) { *to++ = key_word(id, &id - all.ids.data(), all.id_bits); });
      shard.for_each_id(all.blocks.data(), all.offsets.data(), all.ids.data(),
                        [&](std::int64_t, std::int64_t i, std::int64_t vector) { all.ids(i) = vector; });
    };
    shard.sort(shard.shard.keys, fill, words, all.other.data() + first);
    std::int64_t* const keys = all.keys.data() + first;
    std::int64_t count = 0;
    for (std::int64_t k = 0; k < shard.count; ++k) {
      count += k == 0 || differ(words[k - 1], words[k]) ? 1 : 0;
      keys[count - 1] = static_cast<std::int64_t>(words[k] >> all.id_bits);
    }
    return count;
  }
  KOKKOS_FORCEINLINE_FUNCTION bool differ(std::uint64_t word, std::uint64_t other) const {
    return (word ^ other) >> all.id_bits != 0;
  }

  /// Writes the words of a shard in the order of the keys, those of a place that several share behind the others.
  KOKKOS_FUNCTION void place_sorted(const ShardWords& shard, std::int64_t first, std::int64_t count) const {
    const std::int64_t* const places = all.places.data() + first;
    std::int64_t last = -1, with_last = 0;
    for (std::int64_t u = 0; u < count; ++u) last = Kokkos::max(last, places[u]);
    for (std::int64_t u = 0; u < count; ++u) with_last += places[u] == last ? 1 : 0;
    const std::int64_t shared = with_last > 1 ? last : -1;
    const std::int64_t mask = (std::int64_t{1} << all.id_bits) - 1;
    std::uint64_t *const words = all.words.data() + first, *to = all.other.data() + first, *sharing = words;
    const std::int64_t* place = places - 1;
    std::uint64_t before = shard.count > 0 ? ~words[0] : 0;
    for (std::int64_t k = 0; k < shard.count; ++k) {
      const std::uint64_t word = words[k];
      place += differ(before, word) ? 1 : 0;
      before = word;
      std::int64_t& id = all.ids(static_cast<std::int64_t>(word) & mask);  // until now where its gradient begins
      const std::uint64_t placed = key_word(shard.shard.first_key + *place, id, all.position_bits);
      id = *place;
      *(*place == shared ? sharing : to)++ = placed;
    }
    for (const std::uint64_t* word = words; word < sharing; ++word) *to++ = *word;
  }
};

template <class Exec>
ShardKeys<Exec> find_shard_keys(const Exec& exec, ConstArray<Exec, ShardBlocks> shards,
                                ConstArray<Exec, GradientBlock> blocks, ConstArray<Exec, std::int64_t> offsets,
                                Array<Exec, std::int64_t> ids, std::int64_t count, std::int64_t key_bound,
                                ConstArray<Exec, float> gradients, ShardKeysWorkspace<Exec>& workspace) {
  const auto number = static_cast<std::int64_t>(shards.extent(0));
  const auto of_shards = workspace.shards.first(2 * number + 1);
  const ShardKeys<Exec> keys{shards,
                             blocks,
                             offsets,
                             ids,
                             Kokkos::subview(of_shards, std::pair(std::int64_t{0}, number + 1)),
                             Kokkos::subview(of_shards, std::pair(number + 1, 2 * number + 1)),
                             workspace.keys.first(count),
                             workspace.places.first(count),
                             workspace.of_keys.first(count),
                             workspace.words.first(count),
                             workspace.other.first(count),
                             RadixPlan(count, count, key_bound).position_bits,
                             RadixPlan(count, static_cast<std::int64_t>(gradients.extent(0)), key_bound).position_bits};
  count_shard_ids(exec, shards, blocks, offsets, keys.first_id);
  using Kernel = KeysOfShard<Exec>;
  Kokkos::parallel_for("shardmark::find_shard_keys", dynamic_range<typename Kernel::Find>(exec, number), Kernel{keys});
  return keys;
}

template <class Exec>
ConstArray<Exec, std::uint64_t> place_keys(const Exec& exec, const ShardKeys<Exec>& keys) {
  using Kernel = KeysOfShard<Exec>;
  Kokkos::parallel_for("shardmark::place_keys",
                       dynamic_range<typename Kernel::Place>(exec, static_cast<std::int64_t>(keys.shards.extent(0))),
                       Kernel{keys});
  return keys.other;
}

SHARDMARK_INSTANCE(find_shard_keys<DefaultSpace>)
SHARDMARK_INSTANCE(place_keys<DefaultSpace>)

}  // namespace shardmark::kernels
