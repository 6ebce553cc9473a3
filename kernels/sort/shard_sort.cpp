// SPDX-License-Identifier: Apache-2.0
#include "kernels/sort/shard_sort.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/sort/shard_words.hpp"
#include "kernels/update/few_rows.hpp"

namespace shardmark::kernels {

/// Sorts or adds up the ids of the shards, [first_id(s), first_id(s + 1)) of each, and finds where its words begin.
template <class Exec>
struct ShardSort {
  ConstArray<Exec, ShardBlocks> shards;
  ConstArray<Exec, GradientBlock> blocks;
  ConstArray<Exec, std::int64_t> offsets, indices;
  ConstArray<Exec, float> gradients;
  FewRowSums<Exec> sums;
  ConstArray<Exec, std::uint64_t> placed;  ///< sorted words of shards whose ids were keys, from first_id(s) on
  Array<Exec, std::uint64_t> words, other;
  Array<Exec, std::uint32_t> uses;  ///< of rows, where these are added up
  Array<Exec, std::int64_t> first_id, first_word;
  int position_bits;

  struct AddFew {};
  struct CountWords {};
  struct Sort {};

  KOKKOS_FUNCTION ShardWords words_of(std::int64_t s) const {
    return {shards(s), first_id(s + 1) - first_id(s), position_bits};
  }
  KOKKOS_FUNCTION bool adds(std::int64_t s) const { return shards(s).adds(first_id(s + 1) - first_id(s)); }
  KOKKOS_FUNCTION FewRows few(std::int64_t s) const {
    return {shards(s),
            position_bits,
            gradients.data(),
            sums.sums.data() + shards(s).sums,
            sums.pieces.data() + shards(s).pieces,
            uses.data() + first_id(s)};
  }

  KOKKOS_FUNCTION std::int64_t words_listed(std::int64_t s) const {
    if (!adds(s)) return words_of(s).count;
    return sums.listed() ? few(s).used() : 0;
  }

  KOKKOS_FUNCTION void operator()(AddFew, std::int64_t s) const {
    if (!adds(s)) return;
    std::uint64_t* const list = other.data() + first_id(s);
    fill(s, list);
    few(s).add(list, words_of(s).count);
    if (!sums.listed()) few(s).mark(sums.used.data() + shards(s).first_key);
  }
  KOKKOS_FUNCTION void operator()(CountWords, std::int64_t s, std::int64_t& sum, bool final) const {
    if (final) first_word(s) = sum;
    if (s < static_cast<std::int64_t>(shards.extent(0))) sum += words_listed(s);
  }
  KOKKOS_FUNCTION void operator()(Sort, std::int64_t s) const {
    std::uint64_t* to = words.data() + first_word(s);
    if (adds(s)) {
      if (sums.listed()) few(s).list(to);
      return;
    }
    const ShardWords shard = words_of(s);
    if (shards(s).keys > 0) {
      for (std::int64_t i = 0; i < shard.count; ++i) to[i] = placed(first_id(s) + i);
      return;
    }
    shard.sort(
        shards(s).rows, [&](std::uint64_t* unsorted) { fill(s, unsorted); }, to, other.data() + first_word(s));
  }

 private:
  /// Writes the words of all ids of a shard, with where their gradients begin as positions.
  KOKKOS_FUNCTION void fill(std::int64_t s, std::uint64_t* to) const {
    const ShardWords shard = words_of(s);
    shard.for_each_id(blocks.data(), offsets.data(), indices.data(),
                      [&](std::int64_t k, std::int64_t i, std::int64_t vector) {
                        to[k] = key_word(shard.shard.first_key + indices(i), vector, position_bits);
                      });
  }
};

template <class Exec>
UniqueRows<Exec> sort_shards(const Exec& exec, ConstArray<Exec, ShardBlocks> shards,
                             ConstArray<Exec, GradientBlock> blocks, ConstArray<Exec, std::int64_t> offsets,
                             ConstArray<Exec, std::int64_t> indices, std::int64_t ids, std::int64_t key_bound,
                             ConstArray<Exec, float> gradients, const FewRowSums<Exec>& few,
                             UniqueRowsWorkspace<Exec>& workspace, ConstArray<Exec, std::uint64_t> placed) {
  const auto bound = static_cast<std::int64_t>(gradients.extent(0));
  const int position_bits = RadixPlan(ids, bound, key_bound).position_bits;
  const auto count = static_cast<std::int64_t>(shards.extent(0));
  const Array<Exec, std::int64_t> firsts = workspace.shards.first(2 * (count + 1));
  const ShardSort<Exec> sort{shards,
                             blocks,
                             offsets,
                             indices,
                             gradients,
                             few,
                             placed,
                             workspace.words.first(ids),
                             workspace.sorted.first(ids),
                             workspace.uses.first(ids),
                             Kokkos::subview(firsts, std::pair(std::int64_t{0}, count + 1)),
                             Kokkos::subview(firsts, std::pair(count + 1, 2 * (count + 1))),
                             position_bits};
  using Kernel = ShardSort<Exec>;
  count_shard_ids(exec, shards, blocks, offsets, sort.first_id);
  Kokkos::parallel_for("shardmark::add_few_rows", dynamic_range<typename Kernel::AddFew>(exec, count), sort);
  std::int64_t positions = 0;
  Kokkos::parallel_scan("shardmark::count_shard_words", static_range<typename Kernel::CountWords>(exec, count + 1),
                        sort, positions);
  Kokkos::parallel_for("shardmark::sort_shards", dynamic_range<typename Kernel::Sort>(exec, count), sort);
  const UniqueRows<Exec> unique{workspace.words.first(positions), workspace.segments.first(positions + 1),
                                workspace.total.first(1), position_bits};
  mark_distinct(exec, unique, workspace);
  return unique;
}

SHARDMARK_INSTANCE(sort_shards<DefaultSpace>)

}  // namespace shardmark::kernels
