// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "kernels/dynamic/shared_counters.hpp"
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

  /// These are of counter: the keys that are counted, null elsewhere, and by their slots there the latest step that
  /// counted them, and how often. put() sets counts, forget() removes keys that have one. Keys: distinct.
  const KeyTable<Exec>* counted() const { return counted_ ? &*counted_ : nullptr; }
  ConstArray<Exec, RowUse> counts() const { return counts_; }
  void put(const Exec& exec, ConstArray<Exec, std::int64_t> keys, ConstArray<Exec, RowUse> counts);
  void forget(const Exec& exec, ConstArray<Exec, std::int64_t> keys);

  /// Return whether there are counters of bloom, and these.
  bool has_shared() const { return shared_.has_value(); }
  const SharedCounters<Exec>& shared() const { return *shared_; }
  SharedCounters<Exec>& shared() { return *shared_; }

  /// Returns the bytes of its counters, workspace left out.
  std::int64_t bytes() const;

 private:
  void count_keys(const Exec& exec, std::int64_t step, const UniqueRows<Exec>& absent,
                  const ConstArray<Exec, std::int64_t>& keys, const ConstArray<Exec, std::int64_t>& uses,
                  const Array<Exec, std::int64_t>& slots);

  Admission admission_;
  KeyBuckets mix_;
  std::optional<KeyTable<Exec>> counted_;       ///< of counter: where the count of a key lies
  Array<Exec, RowUse> counts_;                  ///< of counter: [slots of counted_]
  std::optional<SharedCounters<Exec>> shared_;  ///< of bloom
  KeyGroupsWorkspace<Exec> groups_;
  Scratch<Exec, std::int64_t> keys_{"shardmark::absent_keys"}, slots_{"shardmark::count_slots"};
};

}  // namespace shardmark::kernels
