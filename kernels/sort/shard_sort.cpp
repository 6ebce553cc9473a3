// SPDX-License-Identifier: Apache-2.0
#include "kernels/sort/shard_sort.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/sort/radix_sort.hpp"
#include "kernels/update/few_rows.hpp"

namespace shardmark::kernels {

/// Chooses passes and digits of the sort of one shard: digits of up to 12 bits, whose counts fill half a first-level
/// cache, and no more of them than there are words.
struct ShardDigits {
  static constexpr int most_bits = 12;
  int passes, bits;

  KOKKOS_FUNCTION ShardDigits(std::int64_t words, std::int64_t rows) {
    int of_words = 6, of_rows = 1;
    while (of_words < most_bits && (std::int64_t{1} << of_words) < words) ++of_words;
    while ((std::int64_t{1} << of_rows) < rows) ++of_rows;
    passes = (of_rows + of_words - 1) / of_words;
    bits = (of_rows + passes - 1) / passes;
  }
};

/// Makes and sorts the words of one shard, from the ids of its blocks to their sorted order.
struct ShardWords {
  ShardBlocks shard;
  std::int64_t count;
  int position_bits;

  /// Writes the words of all bags. An id is written whether or not a bag has one, as in expand_positions.
  KOKKOS_FUNCTION void fill(const GradientBlock* blocks, const std::int64_t* offsets, const std::int64_t* indices,
                            std::uint64_t* words) const {
    constexpr std::int64_t ahead = 64;
    for (std::int64_t b = 0; b < shard.blocks; ++b) {
      const GradientBlock& block = blocks[shard.first_block + b];
      const std::int64_t stop = block.first_bag + block.bags, last = offsets[stop];
      std::int64_t i = offsets[block.first_bag];
      std::uint64_t* const origin = words - i;
      for (std::int64_t bag = block.first_bag; bag < stop && i < last; ++bag) {
        prefetch_near(offsets + bag + ahead, 1);
        prefetch_near(indices + i + ahead, 1);
        const std::int64_t vector = block.gradient + (bag - block.first_bag) * block.gradient_stride;
        const std::int64_t next = offsets[bag + 1];
        origin[i] = word(indices[i], vector);
        for (++i; i < next; ++i) origin[i] = word(indices[i], vector);
        i = next;
      }
      words += last - offsets[block.first_bag];
    }
  }

  /// Makes one stable pass by the digit at `shift` of the local rows.
  KOKKOS_FUNCTION void pass(const std::uint64_t* from, std::uint64_t* to, int shift, int bits) const {
    std::uint32_t places[std::size_t{1} << ShardDigits::most_bits];
    const std::int64_t digits = std::int64_t{1} << bits;
    for (std::int64_t d = 0; d < digits; ++d) places[d] = 0;
    const auto digit = [&](std::uint64_t word) {
      const std::uint64_t row = (word >> position_bits) - static_cast<std::uint64_t>(shard.first_key);
      return (row >> shift) & static_cast<std::uint64_t>(digits - 1);
    };
    for (std::int64_t i = 0; i < count; ++i) ++places[digit(from[i])];
    std::uint32_t sum = 0;
    for (std::int64_t d = 0; d < digits; ++d) {
      const std::uint32_t size = places[d];
      places[d] = sum;
      sum += size;
    }
    for (std::int64_t i = 0; i < count; ++i) to[places[digit(from[i])]++] = from[i];
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION std::uint64_t word(std::int64_t row, std::int64_t vector) const {
    return static_cast<std::uint64_t>(shard.first_key + row) << position_bits | static_cast<std::uint64_t>(vector);
  }
};

/// Sets first_id(s) to the number of ids of the shards before s.
template <class Exec>
void count_shard_ids(const Exec& exec, const ConstArray<Exec, ShardBlocks>& shards,
                     const ConstArray<Exec, GradientBlock>& blocks, const ConstArray<Exec, std::int64_t>& offsets,
                     const Array<Exec, std::int64_t>& first_id) {
  const auto count = static_cast<std::int64_t>(shards.extent(0));
  Kokkos::parallel_scan(
      "shardmark::count_shard_ids", static_range(exec, count + 1),
      KOKKOS_LAMBDA(const std::int64_t s, std::int64_t& sum, const bool final) {
        if (final) first_id(s) = sum;
        if (s == count) return;
        for (std::int64_t b = shards(s).first_block; b < shards(s).first_block + shards(s).blocks; ++b)
          sum += offsets(blocks(b).first_bag + blocks(b).bags) - offsets(blocks(b).first_bag);
      });
}

/// Sorts or adds up the ids of the shards, [first_id(s), first_id(s + 1)) of each, and finds where its words begin.
template <class Exec>
struct ShardSort {
  ConstArray<Exec, ShardBlocks> shards;
  ConstArray<Exec, GradientBlock> blocks;
  ConstArray<Exec, std::int64_t> offsets, indices;
  ConstArray<Exec, float> gradients;
  FewRowSums<Exec> sums;
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
  KOKKOS_FUNCTION bool adds(std::int64_t s) const {
    return shards(s).sums >= 0 && shards(s).rows <= first_id(s + 1) - first_id(s);
  }
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
    words_of(s).fill(blocks.data(), offsets.data(), indices.data(), list);
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
    std::uint64_t* from = other.data() + first_word(s);
    const ShardWords shard = words_of(s);
    const ShardDigits digits(shard.count, shards(s).rows);
    if (digits.passes % 2 == 0) Kokkos::kokkos_swap(from, to);  // the last pass ends in `words`
    shard.fill(blocks.data(), offsets.data(), indices.data(), from);
    for (int pass = 0; pass < digits.passes; ++pass) {
      shard.pass(from, to, pass * digits.bits, digits.bits);
      Kokkos::kokkos_swap(from, to);
    }
  }
};

template <class Exec>
UniqueRows<Exec> sort_shards(const Exec& exec, ConstArray<Exec, ShardBlocks> shards,
                             ConstArray<Exec, GradientBlock> blocks, ConstArray<Exec, std::int64_t> offsets,
                             ConstArray<Exec, std::int64_t> indices, std::int64_t ids, std::int64_t key_bound,
                             ConstArray<Exec, float> gradients, const FewRowSums<Exec>& few,
                             UniqueRowsWorkspace<Exec>& workspace) {
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

#define SHARD_SORT_ON(Exec) SHARDMARK_INSTANCE(sort_shards<Exec>)
SHARDMARK_ON_EACH_SPACE(SHARD_SORT_ON)

}  // namespace shardmark::kernels
