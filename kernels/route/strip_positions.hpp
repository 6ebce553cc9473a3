// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/route/bucketize.hpp"

namespace shardmark::kernels {

/// Holds the bags of some strips, one strip behind the other: the bags of a feature appear once for each of its strips.
template <class Exec>
struct StripPositions {
  ConstArray<Exec, std::int64_t> first_bag;  ///< [strips], ascending: the strip's first bag among these bags
  ConstArray<Exec, std::int64_t> shift;      ///< [strips]: added to the position of an id among the feature's bags
  Array<Exec, std::int64_t> offsets;         ///< [bags + 1]
  Array<Exec, float> weights;                ///< [positions], or empty when the bags have no weights
  Array<Exec, std::int64_t> keys;            ///< [positions]: first_keys[slot that owns the row] + its local row
  Array<Exec, std::int32_t> slots;           ///< [positions], or empty where nobody reads it: that slot
  /// These are [positions], or empty: where any[slot] is not 0, the slot and the id, which is any integer and is not
  /// added to the key; elsewhere the slot is -1.
  Array<Exec, std::int32_t> tags = {};
  Array<Exec, std::int64_t> any_ids = {};
  ConstArray<Exec, std::uint8_t> any = {};  ///< [slots], or empty likewise
};

/// Writes offsets, weights and keys of `listed`. owners: those of the strips; first_keys: [slots]; bags: the whole
/// input.
template <class Exec>
void list_strip_positions(const Exec& exec, const RowOwners<Exec>& owners, ConstArray<Exec, std::int64_t> first_keys,
                          const Bags<Exec, std::int64_t>& bags, const StripPositions<Exec>& listed);

}  // namespace shardmark::kernels
