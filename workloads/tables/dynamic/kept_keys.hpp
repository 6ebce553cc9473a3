// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "kernels/dynamic/dynamic_keys.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/tables/store.hpp"

namespace shardmark::workloads {

/// Keeps what decides about the keys of a shard as it is now, on the host, for a save that steps may go on beside: 24
/// bytes for a row or a count, and the counters that keys share.
class KeptKeys {
 public:
  /// left: keys that have left since the checkpoint before, in any order. Waits for the device.
  KeptKeys(const kernels::DynamicKeys<Execution>& keys, std::vector<std::int64_t> left);

  /// Returns how many keys, or lines, a part has in all.
  std::int64_t count(SavedKeys part) const;
  /// Returns what of a part has changed after step `since`, ascending: all where it is 0. It sorts when it is first
  /// called, in any one thread.
  std::vector<std::int64_t> list(SavedKeys part, std::int64_t since);

  /// Return what lies at some of the keys that list() returned, ascending: slots of rows, uses of rows or counts, and
  /// by their numbers lines of counters.
  std::vector<std::int64_t> slots(const std::vector<std::int64_t>& keys) const;
  std::vector<RowUse> uses(SavedKeys part, const std::vector<std::int64_t>& keys) const;
  std::vector<std::byte> counters(const std::vector<std::int64_t>& lines) const;

 private:
  template <class T>
  using HostArray = Kokkos::View<T*, Kokkos::HostSpace>;
  struct KeyAt {
    std::int64_t key, slot;
  };
  struct Table {
    HostArray<KeyAt> keys;
    HostArray<RowUse> uses;  ///< [slots]
    bool sorted = false;
  };

  static Table table_of(const kernels::KeyTable<Execution>& table, const ConstDeviceArray<RowUse>& uses);
  static std::vector<std::int64_t> used_since(Table& table, std::int64_t since);
  template <class Visit>
  static void for_each_slot(const Table& table, const std::vector<std::int64_t>& keys, const Visit& visit);
  const Table& of(SavedKeys part) const { return part == SavedKeys::rows ? rows_ : counts_; }

  Table rows_, counts_;
  std::vector<std::int64_t> left_;
  std::vector<std::int64_t> lines_;            ///< ascending
  HostArray<kernels::CounterLine> counters_;   ///< [lines]
  HostArray<kernels::CountedBucket> buckets_;  ///< of the counters, [key_buckets]
};

}  // namespace shardmark::workloads
