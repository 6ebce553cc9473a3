// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/tensor_train/tt_keys.hpp"
#include "reference/optimizer.hpp"

namespace shardmark::kernels {

/// Sets ids[positions[i]] to slots[i] where that is a slot (RowCacheDirectory::find). slots, positions: [n].
template <class Exec>
void number_hits(const Exec& exec, ConstArray<Exec, std::int64_t> slots, ConstArray<Exec, std::int64_t> positions,
                 Array<Exec, std::int64_t> ids);

/// Lists those ids of a tt table that are numbered `chosen`: the keys of their rows, and their positions.
///   rows, positions: of all ids of the tt table, or no positions where id i has position i
///   chosen, chosen_keys, chosen_positions: [n]
template <class Exec>
void list_chosen(const Exec& exec, const TtKeys& tt, ConstArray<Exec, std::int64_t> chosen,
                 ConstArray<Exec, std::int64_t> rows, ConstArray<Exec, std::int64_t> positions,
                 Array<Exec, std::int64_t> chosen_keys, Array<Exec, std::int64_t> chosen_positions);

/// Lists the distinct rows from first_unique on, all of one tt table, and at how many positions each is used. rows,
/// uses: [n].
template <class Exec>
void list_uses(const Exec& exec, const UniqueRows<Exec>& unique, std::int64_t first_unique, const TtKeys& tt,
               Array<Exec, std::int64_t> rows, Array<Exec, std::int64_t> uses);

/// Returns some of the distinct rows under other keys: row i is row numbers[i] of `unique` with the key keys[i], and
/// its positions are the same. numbers, keys: [n], the latter in the order of their shards. The result lives in
/// `workspace` until the next call with it.
template <class Exec>
UniqueRows<Exec> rekeyed_rows(const Exec& exec, const UniqueRows<Exec>& unique, ConstArray<Exec, std::int64_t> numbers,
                              ConstArray<Exec, std::int64_t> keys, UniqueRowsWorkspace<Exec>& workspace);

/// Holds vectors of dim elements: vector i lies in place number at[i], or number i where `at` is empty.
template <class Exec, class Float>
struct PlacedVectors {
  Array<Exec, Float> values;
  ConstArray<Exec, std::int64_t> at{};

  KOKKOS_INLINE_FUNCTION Float* vector(std::int64_t i, std::int64_t dim) const {
    return values.data() + (at.extent(0) == 0 ? i : at(i)) * dim;
  }
};

/// Copies vectors [0, count) of `from` to those of `to`; skips places that are no slots, at[i] < 0 of `to`.
template <class Exec>
void copy_vectors(const Exec& exec, std::int64_t count, std::int64_t dim, const PlacedVectors<Exec, const float>& from,
                  const PlacedVectors<Exec, float>& to);

/// Sets vectors [0, count) of `to` to from - to.
template <class Exec>
void subtract_from(const Exec& exec, std::int64_t count, std::int64_t dim, const PlacedVectors<Exec, const float>& from,
                   const PlacedVectors<Exec, float>& to);

/// Gives the rows in some slots their initial optimizer state, [slots of the cache, state_per_row].
template <class Exec>
void reset_state(const Exec& exec, const Optimizer& optimizer, std::int64_t dim, ConstArray<Exec, std::int64_t> slots,
                 Array<Exec, float> state);

/// Replaces slots[i] by the slot of a stale copy (stale_slot) if it names one, else by -1.
template <class Exec>
void keep_stale(const Exec& exec, Array<Exec, std::int64_t> slots);

}  // namespace shardmark::kernels
