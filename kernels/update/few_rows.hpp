// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lookup/column_blocks.hpp"
#include "kernels/prefetch.hpp"
#include "kernels/sort/shard_sort.hpp"
#include "kernels/update/row_gradients.hpp"

namespace shardmark::kernels {

/// Sums the gradients of a shard whose rows are few, in the order of its ids, with the bits of RowGradients.
struct FewRows {
  ShardBlocks shard;
  int position_bits;
  const float* gradients;
  float *sums, *pieces;  ///< [shard.rows, shard.dim]: of each row, and of the pieces of a hot row that are complete
  std::uint32_t* uses;   ///< [shard.rows] ids of each row

  /// Adds the gradients of all ids. words: those of the ids, in their order.
  KOKKOS_FUNCTION void add(const std::uint64_t* words, std::int64_t count) const {
    for (std::int64_t row = 0; row < shard.rows; ++row) uses[row] = 0;
    for (std::int64_t i = 0; i < shard.rows * shard.dim; ++i) sum(0)[i] = nothing;
    with_dim(shard.dim, [&](auto dim) { add(words, count, dim); });
    for (std::int64_t row = 0; row < shard.rows; ++row)
      if (uses[row] > 1) complete(row);
  }
  KOKKOS_FUNCTION std::int64_t used() const {
    std::int64_t count = 0;
    for (std::int64_t row = 0; row < shard.rows; ++row) count += uses[row] > 0 ? 1 : 0;
    return count;
  }
  /// Marks the rows that are used, [shard.rows]; the sums of others become 0.
  KOKKOS_FUNCTION void mark(float* used) const {
    for (std::int64_t row = 0; row < shard.rows; ++row) {
      used[row] = uses[row] > 0 ? 1.0F : 0.0F;
      for (std::int64_t c = 0; uses[row] == 0 && c < shard.dim; ++c) sum(row)[c] = 0.0F;
    }
  }
  /// Writes a word for each row that is used, with the place of its sum among the gradients.
  KOKKOS_FUNCTION void list(std::uint64_t* words) const {
    for (std::int64_t row = 0; row < shard.rows; ++row)
      if (uses[row] > 0)
        *words++ = static_cast<std::uint64_t>(shard.first_key + row) << position_bits |
                   static_cast<std::uint64_t>(shard.sums + row * shard.dim);
  }

 private:
  /// Adding this to one gradient leaves it as it is, -0 too.
  static constexpr float nothing = -0.0F;

  KOKKOS_FORCEINLINE_FUNCTION float* sum(std::int64_t row) const { return sums + row * shard.dim; }
  KOKKOS_FORCEINLINE_FUNCTION float* sum_of_pieces(std::int64_t row) const { return pieces + row * shard.dim; }

  template <class Dim>
  KOKKOS_FORCEINLINE_FUNCTION void add(const std::uint64_t* words, std::int64_t count, Dim dim) const {
    const std::uint64_t position_mask = (std::uint64_t{1} << position_bits) - 1;
    const std::int64_t ahead = prefetch_policy().gradients(dim);
    const auto vector = [&](std::int64_t i) { return gradients + (words[i] & position_mask); };
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = static_cast<std::int64_t>(words[i] >> position_bits) - shard.first_key;
      const std::uint32_t before = uses[row]++;
      if (before > 0 && before % hot_row_piece == 0) end_piece(row, before);
      prefetch(vector(Kokkos::min(i + ahead, count - 1)), dim * std::int64_t{sizeof(float)});
      const float* gradient = vector(i);
      float* const to = sums + row * dim;
      for (std::int64_t c = 0; c < dim; c += simd_width)
        store_simd(to + c, load_simd(to + c, dim - c) + load_simd(gradient + c, dim - c), dim - c);
    }
  }

  KOKKOS_FUNCTION void end_piece(std::int64_t row, std::int64_t uses_before) const {
    const bool first = uses_before == hot_row_piece;
    for (std::int64_t c = 0; c < shard.dim; ++c) {
      sum_of_pieces(row)[c] = (first ? 0.0F : sum_of_pieces(row)[c]) + sum(row)[c];
      sum(row)[c] = nothing;
    }
  }

  /// Adds the sum of the complete pieces of a hot row to its last piece, and 0 to the sum of any other row, which makes
  /// it begin with 0 as RowGradients has it.
  KOKKOS_FUNCTION void complete(std::int64_t row) const {
    for (std::int64_t c = 0; c < shard.dim; ++c)
      sum(row)[c] = (uses[row] > hot_row_piece ? sum_of_pieces(row)[c] : 0.0F) + sum(row)[c];
  }
};

}  // namespace shardmark::kernels
