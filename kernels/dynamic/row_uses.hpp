// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/dynamic/key_table.hpp"
#include "reference/dynamic/eviction.hpp"
#include "reference/value_type.hpp"

namespace shardmark::kernels {

/// Forgets the uses of the rows that have just been given these slots. positions: of some of the slots.
template <class Exec>
void forget_uses(const Exec& exec, ConstArray<Exec, std::int64_t> positions, ConstArray<Exec, std::int64_t> slots,
                 Array<Exec, RowUse> rows);

/// Adds the uses of a step to those of its rows. slots: [n], distinct; below 0: no row. uses: [n]; rows: [slots].
template <class Exec>
void add_uses(const Exec& exec, std::int64_t step, ConstArray<Exec, std::int64_t> slots,
              ConstArray<Exec, std::int64_t> uses, Array<Exec, RowUse> rows);

/// Sets the uses of rows. slots: [n], distinct; uses: [n]; rows: [slots].
template <class Exec>
void set_uses(const Exec& exec, ConstArray<Exec, std::int64_t> slots, ConstArray<Exec, RowUse> uses,
              Array<Exec, RowUse> rows);

/// Holds the values of rows by their slots, for the scores of EvictionKind::l2.
struct SlotRows {
  const void* values = nullptr;  ///< [slots] of row_bytes(value_type, dim)
  ValueType value_type = ValueType::fp32;
  std::int64_t dim = 0;
};

/// Is a row that may go, by score and key.
struct VictimCandidate {
  double score;
  std::int64_t key;

  KOKKOS_FORCEINLINE_FUNCTION bool operator<(const VictimCandidate& other) const {
    return score < other.score || (score == other.score && key < other.key);
  }
};

template <class Exec>
struct VictimsWorkspace {
  Scratch<Exec, std::int64_t> buckets{"shardmark::searched_buckets"}, begins{"shardmark::searched_begins"};
  Scratch<Exec, VictimCandidate> candidates{"shardmark::victim_candidates"};
  Scratch<Exec, std::int64_t> leaving{"shardmark::leaving_rows"}, victims{"shardmark::victims"};
};

/// Returns the keys of the rows that go at the end of a step by the rule of reference::DynamicTable, in its order. Each
/// bucket is searched by one thread, and only where it has more rows than its share of the capacity or is_examined().
/// The result lives in `workspace`. Waits for the device.
template <class Exec>
ConstArray<Exec, std::int64_t> find_victims(const Exec& exec, const KeyTable<Exec>& table,
                                            ConstArray<Exec, RowUse> uses, const SlotRows& rows,
                                            const Eviction& eviction, std::int64_t step,
                                            VictimsWorkspace<Exec>& workspace);

}  // namespace shardmark::kernels
