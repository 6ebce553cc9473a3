// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/sort/radix_sort.hpp"
#include "kernels/sort/shard_sort.hpp"

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

/// Makes and sorts the words of one shard, a key above a position each, in one thread.
struct ShardWords {
  ShardBlocks shard;
  std::int64_t count;
  int position_bits;

  /// Calls body(k, i, vector) for ids[i], which is id k of the shard, and where the gradient of its bag begins. An id
  /// is given whether or not a bag has one, the next bag giving it again, as in expand_positions.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_id(const GradientBlock* blocks, const std::int64_t* offsets,
                                               const std::int64_t* ids, const Body& body) const {
    constexpr std::int64_t ahead = 64;
    std::int64_t before = 0;
    for (std::int64_t b = 0; b < shard.blocks; ++b) {
      const GradientBlock& block = blocks[shard.first_block + b];
      const std::int64_t stop = block.first_bag + block.bags, last = offsets[stop], first = offsets[block.first_bag];
      const std::int64_t shift = before - first;
      std::int64_t i = first;
      for (std::int64_t bag = block.first_bag; bag < stop && i < last; ++bag) {
        prefetch_near(offsets + bag + ahead, 1);
        prefetch_near(ids + i + ahead, 1);
        const std::int64_t vector = block.gradient + (bag - block.first_bag) * block.gradient_stride;
        const std::int64_t next = offsets[bag + 1];
        body(shift + i, i, vector);
        for (++i; i < next; ++i) body(shift + i, i, vector);
        i = next;
      }
      before += last - first;
    }
  }

  /// Writes the words of the ids by fill(words), and sorts them by their keys, stably. The result lies in `words`.
  /// key_bound: above all keys, first_key subtracted; words, other: [count].
  template <class Fill>
  KOKKOS_FORCEINLINE_FUNCTION void sort(std::int64_t key_bound, const Fill& fill, std::uint64_t* words,
                                        std::uint64_t* other) const {
    const ShardDigits digits(count, key_bound);
    std::uint64_t *to = words, *from = other;
    if (digits.passes % 2 == 0) Kokkos::kokkos_swap(from, to);
    fill(from);
    for (int pass = 0; pass < digits.passes; ++pass) {
      make_pass(from, to, pass * digits.bits, digits.bits);
      Kokkos::kokkos_swap(from, to);
    }
  }

 private:
  /// Makes one stable pass by the digit at `shift` of the local rows.
  KOKKOS_FUNCTION void make_pass(const std::uint64_t* from, std::uint64_t* to, int shift, int bits) const {
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

}  // namespace shardmark::kernels
