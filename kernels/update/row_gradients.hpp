// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "kernels/sort/balanced_ranges.hpp"
#include "kernels/sort/unique_rows.hpp"

namespace shardmark::kernels {

/// Holds what the gradient of every distinct row is summed from that a rank received ids for:
///   g(u) = sum over its positions p, ascending, of weight[p] * gradients[gradient_offset(p) .. + dim)
/// in fp32. Rows with more than hot_row_piece positions are summed in pieces of that many positions, and the pieces
/// then added in order, each from 0: a fixed order, so equal bits for any number of threads.
template <class Exec>
struct RowGradients {
  UniqueRows<Exec> unique;
  ConstArray<Exec, std::int64_t> gradient_offset;  ///< [positions], or empty where unique.position(i) is the offset
  ConstArray<Exec, float> weights;                 ///< [positions], or empty when every weight is 1
  ConstArray<Exec, float> gradients;               ///< the gradients that came back over the inverse route

  /// Returns the element where the gradient of sorted position i begins.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t vector_begin(std::int64_t i) const {
    const std::int64_t position = unique.position(i);
    return gradient_offset.extent(0) == 0 ? position : gradient_offset(position);
  }
};

/// Sorts positions by their keys, for the sums of their gradients. keys in [0, key_bound) and gradient_offset:
/// [positions] each, as expand_positions gives them. Without weights the offsets are sorted in the place of the
/// positions, which avoids a random read of each.
template <class Exec>
RowGradients<Exec> sorted_row_gradients(const Exec& exec, ConstArray<Exec, std::int64_t> keys, std::int64_t key_bound,
                                        ConstArray<Exec, std::int64_t> gradient_offset, ConstArray<Exec, float> weights,
                                        ConstArray<Exec, float> gradients, UniqueRowsWorkspace<Exec>& workspace) {
  if (weights.extent(0) > 0)
    return {unique_rows<Exec>(exec, keys, key_bound, workspace), gradient_offset, weights, gradients};
  const auto bound = static_cast<std::int64_t>(gradients.extent(0));
  return {unique_rows<Exec>(exec, keys, key_bound, gradient_offset, bound, workspace), {}, weights, gradients};
}

/// Lists the shards of a rank by ascending first_key. Shard: anything with first_key and dim (UpdateShard, DenseShard).
template <class Exec, class Shard>
struct ShardList {
  ConstArray<Exec, Shard> shards;
  std::int64_t largest_dim = 0;
  Kokkos::View<const Shard*, Kokkos::HostSpace> on_host = {};  ///< the same, where shard_list made the list

  KOKKOS_INLINE_FUNCTION std::int64_t count() const { return static_cast<std::int64_t>(shards.extent(0)); }
  /// Returns the shard that holds `key`: the last one that begins at or before it, so that empty shards never match.
  KOKKOS_INLINE_FUNCTION std::int64_t find(std::int64_t key) const {
    return last_at_most(count(), key, [&](std::int64_t s) { return shards(s).first_key; });
  }
};

template <class Exec, class Shard>
ShardList<Exec, Shard> shard_list(const Exec& exec, const std::vector<Shard>& shards) {
  std::int64_t largest_dim = 0;
  for (const auto& shard : shards) largest_dim = std::max(largest_dim, shard.dim);
  const Kokkos::View<Shard*, Kokkos::HostSpace> on_host(
      Kokkos::view_alloc("shardmark::shards_on_host", Kokkos::WithoutInitializing), shards.size());
  std::copy(shards.begin(), shards.end(), on_host.data());
  return {array_of(exec, shards, "shardmark::shards"), largest_dim, on_host};
}

inline constexpr std::int64_t hot_row_piece = 1024;

/// Names the positions [begin, end) in sorted order, all of row `key`.
struct RowPiece {
  std::int64_t key;
  std::int64_t begin;
  std::int64_t end;
};

/// Is a piece of a row with many positions on a device, or all of a row that has several: its sorted positions [begin,
/// end).
struct alignas(16) LongPiece {
  std::uint32_t begin, end;
  std::uint32_t number;  ///< where its sum goes
  std::int32_t dim;      ///< of its row
};

template <class Exec>
struct RowGradientsWorkspace {
  Scratch<Exec, RowPiece> pieces{"shardmark::hot_row_pieces"};
  Scratch<Exec, std::int64_t> first_piece{"shardmark::hot_row_first_piece"};
  Scratch<Exec, std::int64_t> piece_count{"shardmark::hot_row_piece_count"};
  Scratch<Exec, float> partial_sums{"shardmark::hot_row_partial_sums"};
  Scratch<Exec, LongPiece> long_pieces{"shardmark::long_pieces"};  ///< on devices
  Array<Exec, std::uint32_t> counters;                             ///< of them, 0 between the updates
};

}  // namespace shardmark::kernels
