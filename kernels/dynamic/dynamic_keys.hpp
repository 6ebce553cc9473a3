// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/dynamic/key_filter.hpp"
#include "kernels/dynamic/row_uses.hpp"
#include "reference/dynamic/dynamic_table.hpp"

namespace shardmark::kernels {

/// Decides which keys of a dynamic table have rows and where, by the rule of reference::DynamicTable: keys, uses and
/// victims are equal for any number of threads. The rows themselves lie at their slots, wherever its caller has them.
template <class Exec>
class DynamicKeys {
 public:
  DynamicKeys(const DynamicRules& rules, const KeyBuckets& mix)
      : rules_(rules), table_(mix), filter_(rules.admission, mix) {}

  const KeyTable<Exec>& table() const { return table_; }
  const KeyFilter<Exec>& filter() const { return filter_; }
  KeyFilter<Exec>& filter() { return filter_; }
  ConstArray<Exec, RowUse> uses() const { return uses_; }

  /// Sets slots[i] to where the row of keys[i] lies, or to no_slot. Changes nothing: it is the lookup of evaluations.
  void find(const Exec& exec, ConstArray<Exec, std::int64_t> keys, Array<Exec, std::int64_t> slots) const {
    table_.find(exec, keys, slots);
  }

  /// Begins a step of training: gives slots to the keys that are admitted, and pins those of all its keys until its
  /// end. keys: [n], distinct; uses: [n]; slots: [n], set to the slots of the keys, or not_admitted. Returns the
  /// positions whose rows are new, ascending, and are to be given their initial values; valid until the next call.
  /// Waits for the device.
  ConstArray<Exec, std::int64_t> bring(const Exec& exec, std::int64_t step, ConstArray<Exec, std::int64_t> keys,
                                       ConstArray<Exec, std::int64_t> uses, Array<Exec, std::int64_t> slots) {
    const std::int64_t used = table_.slot_bound();
    const auto added = insert_admitted(exec, step, keys, uses, slots);
    reserve(exec, uses_, used, table_.slot_bound(), "shardmark::row_uses");
    forget_uses<Exec>(exec, added, slots, uses_);
    add_uses<Exec>(exec, step, slots, uses, uses_);
    return added;
  }

  /// Ends the step: evicts. Returns the keys of the victims, in the order of the rule; valid until the next call.
  /// Waits for the device.
  ConstArray<Exec, std::int64_t> end(const Exec& exec, std::int64_t step, const SlotRows& rows) {
    if (rules_.eviction.kind == EvictionKind::none) return {};
    const auto victims = find_victims<Exec>(exec, table_, uses_, rows, rules_.eviction, step, victims_);
    table_.erase(exec, victims);
    return victims;
  }

  /// These make keys what they were when they were saved, whatever the rules say: they get rows of these uses, at
  /// `slots`; counts of a filter, and no rows; or neither. keys: [n], distinct. They wait for the device.
  void put(const Exec& exec, ConstArray<Exec, std::int64_t> keys, ConstArray<Exec, RowUse> uses,
           Array<Exec, std::int64_t> slots) {
    const std::int64_t used = table_.slot_bound();
    table_.find_or_insert(exec, keys, slots);
    reserve(exec, uses_, used, table_.slot_bound(), "shardmark::row_uses");
    set_uses<Exec>(exec, slots, uses, uses_);
    filter_.forget(exec, keys);
  }
  void put_counts(const Exec& exec, ConstArray<Exec, std::int64_t> keys, ConstArray<Exec, RowUse> counts) {
    table_.erase(exec, keys);
    filter_.put(exec, keys, counts);
  }
  void forget(const Exec& exec, ConstArray<Exec, std::int64_t> keys) {
    table_.erase(exec, keys);
    filter_.forget(exec, keys);
  }

 private:
  ConstArray<Exec, std::int64_t> insert_admitted(const Exec& exec, std::int64_t step,
                                                 ConstArray<Exec, std::int64_t> keys,
                                                 ConstArray<Exec, std::int64_t> uses, Array<Exec, std::int64_t> slots) {
    if (rules_.admission.kind == AdmissionKind::all) return table_.find_or_insert(exec, keys, slots);
    table_.find(exec, keys, slots);
    filter_.admit(exec, step, keys, uses, slots);
    return table_.insert(exec, keys, slots);
  }

  DynamicRules rules_;
  KeyTable<Exec> table_;
  KeyFilter<Exec> filter_;
  Array<Exec, RowUse> uses_;  ///< [slots]
  VictimsWorkspace<Exec> victims_;
};

}  // namespace shardmark::kernels
