// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/route/expand_positions.hpp"
#include "kernels/sort/unique_rows.hpp"

namespace shardmark::kernels {

/// Describes a shard and its blocks of bags: blocks[first_block .. first_block + count) of a list that is ordered by
/// shard.
struct ShardBlocks {
  std::int64_t first_key = 0;
  std::int64_t rows = 0;
  std::int64_t first_block = 0;
  std::int64_t blocks = 0;
  std::int64_t dim = 0;
  /// These are the elements of FewRowSums::sums and FewRowSums::pieces where the sums of its rows begin, and as many
  /// elements that the summation needs. They are negative where the shard has too many rows for that.
  std::int64_t sums = -1, pieces = -1;
  /// This is above all ids of the shard where they were keys (shard_keys.hpp), and at most `rows`, which then are
  /// places; 0: ids are local rows from the start; any_keys: they were any integers (key_numbers.hpp), and are places.
  std::int64_t keys = 0;
  static constexpr std::int64_t any_keys = -1;

  /// Says whether the gradients of its rows are added up, by the number of its ids; else its ids are sorted.
  KOKKOS_INLINE_FUNCTION bool adds(std::int64_t ids) const { return sums >= 0 && rows <= ids; }
};

/// Holds the arrays that receive the sums of shards of few rows.
template <class Exec>
struct FewRowSums {
  Array<Exec, float> sums, pieces;
  /// These are [keys] flags of the shards whose gradients are added: 1 if an id names the row; 0 if none does, and its
  /// sum is 0. The array is empty where the sums lie among the gradients, and these rows are listed with the others.
  Array<Exec, float> used;

  KOKKOS_INLINE_FUNCTION bool listed() const { return used.extent(0) == 0; }
};

/// Returns what unique_rows makes of the keys and gradient offsets that expand_positions gives, without writing either:
/// one thread turns the ids of a shard into words and sorts them by local row, in an eighth of the memory, which its
/// caches hold. This pays where there are enough shards to keep the threads busy. Blocks pool by sum, so all ids of a
/// bag share a gradient.
/// Shards with `sums` that have at least as many ids as rows are not sorted: the gradients of each row are added in the
/// order of RowGradients, with the same bits. If `few` is listed, the row has one position, that of its sum.
///   shards: by ascending first_key;  blocks: in the order of the shards, those of one in the order of their bags
///   offsets, indices: of all bags;  ids: how many these shards have
///   gradients: the array that the gradient offsets index, and where listed sums lie
///   placed: what place_keys returned, where ids of some shards were keys: these are not sorted again, and the order of
///   their rows is that of the keys
/// The result lives in `workspace`. Throws InputError as unique_rows does.
template <class Exec>
UniqueRows<Exec> sort_shards(const Exec& exec, ConstArray<Exec, ShardBlocks> shards,
                             ConstArray<Exec, GradientBlock> blocks, ConstArray<Exec, std::int64_t> offsets,
                             ConstArray<Exec, std::int64_t> indices, std::int64_t ids, std::int64_t key_bound,
                             ConstArray<Exec, float> gradients, const FewRowSums<Exec>& few,
                             UniqueRowsWorkspace<Exec>& workspace, ConstArray<Exec, std::uint64_t> placed = {});

}  // namespace shardmark::kernels
