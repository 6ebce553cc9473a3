// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "datasets/hdf5.hpp"

namespace shardmark::datasets {

/// Maps 32-bit values to non-zero 64-bit numbers (counts, ids) by open addressing with linear probing, at most 2/3
/// full, 16 bytes per slot.
class ValueTable {
 public:
  explicit ValueTable(std::size_t expected = 0) {
    while (slots_.size() * 2 < expected * 3) slots_.resize(slots_.size() * 2);
  }

  std::size_t size() const { return size_; }

  /// Returns the number of `value`, 0 when new; the caller must make it non-zero.
  std::int64_t& operator[](std::uint32_t value) {
    if ((size_ + 1) * 3 > slots_.size() * 2) grow();
    Slot& slot = slots_[position(value)];
    if (slot.number == 0) {
      slot.value = value;
      ++size_;
    }
    return slot.number;
  }

  /// Returns the number of `value`, 0 when it is not in the table.
  std::int64_t find(std::uint32_t value) const { return slots_[position(value)].number; }

  /// Calls visit(value, number) for every entry, in no order.
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

/// Computes the XXH64 (seed 0) of a stream of bytes, as 16 hexadecimal digits.
class Checksum {
 public:
  Checksum();
  void add(const void* bytes, std::size_t count);
  std::string text() const;

 private:
  struct Free {
    void operator()(void* state) const;
  };
  std::unique_ptr<void, Free> state_;
};

inline constexpr const char* checksum_attribute = "xxh64";

/// Appends to a data set in whole chunks of 1 MiB (a smaller one when all of it fits) and leaves the checksum of its
/// bytes in the attribute `xxh64`.
template <class T>
class ColumnWriter {
 public:
  ColumnWriter(hdf5::File& file, std::string name) : file_(&file), name_(std::move(name)) {}

  void append(T value) {
    buffer_.push_back(value);
    if (std::ssize(buffer_) == chunk_elements) flush();
  }

  void finish() {
    flush();
    file_->write_attribute(name_, checksum_attribute, checksum_.text());
  }

 private:
  static constexpr std::int64_t chunk_elements = hdf5::chunk_bytes / static_cast<std::int64_t>(sizeof(T));

  void flush() {
    if (!dataset_) dataset_ = hdf5::Dataset<T>::create(*file_, name_, std::max<std::int64_t>(1, std::ssize(buffer_)));
    dataset_->append(buffer_);
    checksum_.add(buffer_.data(), buffer_.size() * sizeof(T));
    buffer_.clear();
  }

  hdf5::File* file_;
  std::string name_;
  std::vector<T> buffer_;
  std::optional<hdf5::Dataset<T>> dataset_;
  Checksum checksum_;
};

/// Reads all of a data set, and if `has_checksum` compares with its attribute `xxh64`; visit(first, values) sees each
/// piece. Throws InputError naming file and data set on a mismatch.
template <class T, class Visit>
void verify_column(const hdf5::File& file, const hdf5::Dataset<T>& dataset, bool has_checksum, Visit&& visit) {
  std::vector<T> piece;
  Checksum checksum;
  for (std::int64_t first = 0; first < dataset.size(); first += std::ssize(piece)) {
    constexpr std::int64_t elements = hdf5::chunk_bytes / static_cast<std::int64_t>(sizeof(T));
    piece.resize(std::min(elements, dataset.size() - first));
    dataset.read(first, std::span<T>(piece));
    checksum.add(piece.data(), piece.size() * sizeof(T));
    visit(first, std::span<const T>(piece));
  }
  if (!has_checksum) return;
  const std::string expected = file.read_string(dataset.name(), checksum_attribute);
  if (checksum.text() != expected)
    file.fail(dataset.name(),
              "checksum mismatch: its content has xxh64 " + checksum.text() + ", the file says " + expected);
}

}  // namespace shardmark::datasets
