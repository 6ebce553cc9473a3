// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/route/expand_positions.hpp"
#include "kernels/sort/unique_rows.hpp"

namespace shardmark::kernels {

/// The blocks of bags of a shard, blocks[first_block .. first_block + count) of a list that is ordered by shard.
struct ShardBlocks {
  std::int64_t first_key = 0;
  std::int64_t rows = 0;
  std::int64_t first_block = 0;
  std::int64_t blocks = 0;
  std::int64_t dim = 0;
  /// Where the sums of its rows go, and where as many elements lie that adding them needs. Negative: its rows are too
  /// many for that.
  std::int64_t sums = -1, pieces = -1;
};

/// Elements that the sums of a shard take if its rows are so few, and its bags so many, that its gradients are added to
/// sums that stay in the second cache, with as many more; else 0.
constexpr std::int64_t few_row_sums(std::int64_t rows, std::int64_t dim, std::int64_t bags) {
  constexpr std::int64_t cached_floats = std::int64_t{1} << 16;
  return rows * dim <= cached_floats && 2 * rows <= bags ? rows * dim : 0;
}

/// Where the sums of shards of few rows go.
template <class Exec>
struct FewRowSums {
  Array<Exec, float> sums, pieces;
  /// [keys] 1: an id names the row; 0: none does, and its sum is 0. Of shards that are added. Empty where the sums lie
  /// among the gradients, and these rows are listed with the others.
  Array<Exec, float> used;

  KOKKOS_INLINE_FUNCTION bool listed() const { return used.extent(0) == 0; }
};

/// unique_rows of the keys and gradient offsets that expand_positions gives, without writing either: each shard's ids
/// become words and are sorted by local row, by one thread, in an eighth of the memory, which its caches hold. For as
/// many shards as keep the threads busy. Blocks pool by sum, so all ids of a bag share a gradient.
/// Shards with `sums` that have at least as many ids as rows are not sorted: the gradients of each row are added as
/// RowGradients has it, with the same bits. If `few` is listed, the row has one position, that of its sum.
///   shards: by ascending first_key;  blocks: in the order of the shards, those of one in the order of their bags
///   offsets, indices: of all bags;  ids: of these shards
///   gradients: what the gradient offsets count in, and where listed sums lie
/// The result lives in `workspace`. Throws InputError as unique_rows does.
template <class Exec>
UniqueRows<Exec> sort_shards(const Exec& exec, ConstArray<Exec, ShardBlocks> shards,
                             ConstArray<Exec, GradientBlock> blocks, ConstArray<Exec, std::int64_t> offsets,
                             ConstArray<Exec, std::int64_t> indices, std::int64_t ids, std::int64_t key_bound,
                             ConstArray<Exec, float> gradients, const FewRowSums<Exec>& few,
                             UniqueRowsWorkspace<Exec>& workspace);

}  // namespace shardmark::kernels
