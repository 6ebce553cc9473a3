// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/sort/unique_rows.hpp"
#include "reference/tensor_train/contraction.hpp"

namespace shardmark::kernels {

/// Maps the rows of a tt table to keys. Ascending keys are in the order of contraction, so that rows with the same
/// slices of the first cores follow each other. The key of row i is first_key + i or, where the last core comes first
/// (mirrored), first_key plus the number that the reversed digits of i give.
struct TtKeys {
  TensorTrainShape shape;  ///< of the table
  bool mirrored = false;
  std::int64_t first_key = 0;

  KOKKOS_INLINE_FUNCTION std::int64_t operator()(std::int64_t row) const {
    return first_key + (mirrored ? mirrored_row(shape, row) : row);
  }
  /// Returns the row of a key.
  KOKKOS_INLINE_FUNCTION std::int64_t row(std::int64_t key) const {
    return mirrored ? mirrored_row(shardmark::mirrored(shape), key - first_key) : key - first_key;
  }
};

/// Sets keys[i] to the key of rows[i].
template <class Exec>
void list_row_keys(const Exec& exec, const TtKeys& tt, ConstArray<Exec, std::int64_t> rows,
                   Array<Exec, std::int64_t> keys);

/// Describes consecutive bags whose ids are rows of one tt table.
struct TtBags {
  std::int64_t first_bag = 0;
  std::int64_t bags = 0;
  TtKeys keys;
};

/// Sets before[b] to the number of ids in the bags of the blocks before block b. offsets: of all bags; before: [blocks
/// + 1].
template <class Exec>
void count_tt_ids(const Exec& exec, ConstArray<Exec, TtBags> blocks, ConstArray<Exec, std::int64_t> offsets,
                  Array<Exec, std::int64_t> before);

/// Lists the ids of the blocks, one after the other: the keys of their rows, and their positions among all ids. before:
/// of count_train_ids; keys, positions: [before(blocks)].
template <class Exec>
void list_tt_ids(const Exec& exec, ConstArray<Exec, TtBags> blocks, ConstArray<Exec, std::int64_t> offsets,
                 ConstArray<Exec, std::int64_t> before, ConstArray<Exec, std::int64_t> ids,
                 Array<Exec, std::int64_t> keys, Array<Exec, std::int64_t> positions);

/// Describes the distinct rows [first_unique, first_unique + rows) of a UniqueRows, all of one tt table.
struct TtRows {
  std::int64_t first_unique = 0;
  std::int64_t rows = 0;
  std::int64_t row_key = 0;  ///< of row 0 in the UniqueRows
  std::int64_t place = 0;    ///< of the first of them among those of all tt tables
  std::int64_t vector = 0;   ///< element where the vector of the first of them begins
  std::int64_t dim = 0;      ///< elements from one vector to the next
  TtKeys keys;
};

/// Lists the distinct rows of all tt tables, one after the other: their keys, and where their vectors begin.
///   tts: by ascending place; keys, vectors: [rows of all tt tables].
template <class Exec>
void list_tt_rows(const Exec& exec, const UniqueRows<Exec>& unique, ConstArray<Exec, TtRows> tts,
                  Array<Exec, std::int64_t> keys, Array<Exec, std::int64_t> vectors);

/// Sets touched[first_slice + s] to 1 for every slice s that a distinct row of the tt tables is made of, s counted core
/// by core in the order of the shape, and to 0 for others. first_slice: [tts].
template <class Exec>
void mark_tt_slices(const Exec& exec, const UniqueRows<Exec>& unique, ConstArray<Exec, TtRows> tts,
                    ConstArray<Exec, std::int64_t> first_slice, Array<Exec, std::int32_t> touched);

}  // namespace shardmark::kernels
