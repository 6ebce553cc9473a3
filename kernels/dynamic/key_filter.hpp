// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/dynamic/key_table.hpp"
#include "reference/dynamic/admission.hpp"

namespace shardmark::kernels {

/// Counts keys that are absent from a table until they are admitted, by the rule of reference::KeyFilter.
template <class Exec>
class KeyFilter {
 public:
  KeyFilter(const Admission& admission, const KeyBuckets& mix);

  /// Counts the uses of the keys whose slots are no_slot, and sets the slots of those that it does not admit to
  /// not_admitted. keys: [n], distinct; uses and slots: [n]. Waits for the device.
  void admit(const Exec& exec, ConstArray<Exec, std::int64_t> keys, ConstArray<Exec, std::int64_t> uses,
             Array<Exec, std::int64_t> slots);

  /// Returns the bytes of its counters, workspace left out.
  std::int64_t bytes() const;

 private:
  void count_keys(const Exec& exec, const UniqueRows<Exec>& absent, const ConstArray<Exec, std::int64_t>& keys,
                  const ConstArray<Exec, std::int64_t>& uses, const Array<Exec, std::int64_t>& slots);

  Admission admission_;
  KeyBuckets mix_;
  KeyTable<Exec> counted_;             ///< of counter: where the count of a key lies
  Array<Exec, std::uint32_t> counts_;  ///< of counter: [slots of counted_]
  Array<Exec, std::uint8_t> bytes_;    ///< of bloom where F is at most 255: [buckets, counters]
  Array<Exec, std::uint32_t> words_;   ///< of bloom elsewhere: the same
  KeyGroupsWorkspace<Exec> groups_;
  Scratch<Exec, std::int64_t> keys_{"shardmark::absent_keys"}, slots_{"shardmark::count_slots"};
};

}  // namespace shardmark::kernels
