// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shardmark::datasets {

/// An open-addressing hash table from 32-bit values to non-zero 64-bit numbers (counts, ids). Linear probing, at most
/// 2/3 full, 16 bytes per slot.
class ValueTable {
 public:
  explicit ValueTable(std::size_t expected = 0) {
    while (slots_.size() * 2 < expected * 3) slots_.resize(slots_.size() * 2);
  }

  std::size_t size() const { return size_; }

  /// The number of `value`, 0 when new; the caller must make it non-zero.
  std::int64_t& operator[](std::uint32_t value) {
    if ((size_ + 1) * 3 > slots_.size() * 2) grow();
    Slot& slot = slots_[position(value)];
    if (slot.number == 0) {
      slot.value = value;
      ++size_;
    }
    return slot.number;
  }

  /// The number of `value`, 0 when it is not in the table.
  std::int64_t find(std::uint32_t value) const { return slots_[position(value)].number; }

  /// visit(value, number) for every entry, in no order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Slot& slot : slots_)
      if (slot.number != 0) visit(slot.value, slot.number);
  }

 private:
  struct Slot {
    std::int64_t number = 0;
    std::uint32_t value = 0;
  };

  std::size_t position(std::uint32_t value) const {
    constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15ULL;
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (value * golden_ratio >> 32) & mask;
    while (slots_[at].number != 0 && slots_[at].value != value) at = (at + 1) & mask;
    return at;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.number != 0) slots_[position(slot.value)] = slot;
  }

  std::vector<Slot> slots_{16};
  std::size_t size_ = 0;
};

}  // namespace shardmark::datasets
