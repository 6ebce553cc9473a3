// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/dynamic/key_table.hpp"
#include "reference/dynamic/admission.hpp"
#include "reference/dynamic/eviction.hpp"

namespace shardmark::kernels {

/// Counts keys that are absent from a table until they are admitted, by the rule of reference::KeyFilter.
template <class Exec>
class KeyFilter {
 public:
  KeyFilter(const Admission& admission, const KeyBuckets& mix);

  /// Counts the uses of the keys whose slots are no_slot in a step, and sets the slots of those that it does not admit
  /// to not_admitted. keys: [n], distinct; uses and slots: [n]. Waits for the device.
  void admit(const Exec& exec, std::int64_t step, ConstArray<Exec, std::int64_t> keys,
             ConstArray<Exec, std::int64_t> uses, Array<Exec, std::int64_t> slots);

  /// These are of counter: the keys that are counted, and by their slots there the latest step that counted them, and
  /// how often. put() sets counts, forget() removes keys that have one. Keys: distinct.
  const KeyTable<Exec>& counted() const { return counted_; }
  ConstArray<Exec, RowUse> counts() const { return counts_; }
  void put(const Exec& exec, ConstArray<Exec, std::int64_t> keys, ConstArray<Exec, RowUse> counts);
  void forget(const Exec& exec, ConstArray<Exec, std::int64_t> keys);

  /// These are of bloom: its counters, [buckets] of so many bytes, and the latest step that changed those of a bucket.
  std::byte* counters() const;
  std::int64_t bucket_bytes() const { return bucket_bytes_of(admission_); }
  Array<Exec, std::uint32_t> last_counted() const { return last_; }
  static std::int64_t bucket_bytes_of(const Admission& admission) {
    return bloom_shape(admission).counters * (in_bytes(admission) ? 1 : 4);
  }
  static bool in_bytes(const Admission& admission) { return admission.uses <= 255; }

  /// Returns the bytes of its counters, workspace left out.
  std::int64_t bytes() const;

 private:
  void count_keys(const Exec& exec, std::int64_t step, const UniqueRows<Exec>& absent,
                  const ConstArray<Exec, std::int64_t>& keys, const ConstArray<Exec, std::int64_t>& uses,
                  const Array<Exec, std::int64_t>& slots);

  Admission admission_;
  KeyBuckets mix_;
  KeyTable<Exec> counted_;            ///< of counter: where the count of a key lies
  Array<Exec, RowUse> counts_;        ///< of counter: [slots of counted_]
  Array<Exec, std::uint8_t> bytes_;   ///< of bloom where F is at most 255: [buckets, counters]
  Array<Exec, std::uint32_t> words_;  ///< of bloom elsewhere: the same
  Array<Exec, std::uint32_t> last_;   ///< of bloom: [buckets]
  KeyGroupsWorkspace<Exec> groups_;
  Scratch<Exec, std::int64_t> keys_{"shardmark::absent_keys"}, slots_{"shardmark::count_slots"};
};

}  // namespace shardmark::kernels
