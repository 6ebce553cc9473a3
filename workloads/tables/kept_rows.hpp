// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "kernels/prefetch.hpp"
#include "workloads/tables/row_arrays.hpp"

namespace shardmark::workloads {

/// Keeps the rows of an array as they are now, while updates go on: copies each before its first update, unless it has
/// been read. Takes 4 bytes for every row, and of those that it copies values and state. On hosts.
class KeptRows {
 public:
  explicit KeptRows(const RowArrays& rows);

  /// Copies those of some rows that are neither copied nor read: rows that are written next. row_of(i): of i in [0, n),
  /// its place; the places are distinct, and those behind the array are left out.
  template <class RowOf>
  void before_write(std::int64_t n, const RowOf& row_of) {
    constexpr std::int64_t ahead = 16;
    make_room(used_ + n);
    Kokkos::parallel_for("shardmark::keep_rows", Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(0, n),
                         [&](std::int64_t i) {
                           if (i + 2 * ahead < n) prefetch_slot(row_of(i + 2 * ahead));
                           if (i + ahead < n) prefetch_row(row_of(i + ahead));
                           keep(row_of(i));
                         });
  }

  /// Makes rows that were read of the array what they were, and keeps them no longer: each is read once. row_of(i): of
  /// i in [0, n), its place.
  template <class RowOf>
  void put_back(std::int64_t n, const RowOf& row_of, StoredRows& read) {
    for (std::int64_t i = 0; i < n; ++i) put_back(row_of(i), i, read);
  }

 private:
  /// Says of a row that it is as it was, that it has been read, or, from first_copy on, where its copy lies.
  enum Slot : std::uint32_t { unchanged, was_read, first_copy };
  struct Free {
    void operator()(std::uint32_t* slots) const { std::free(slots); }
  };

  std::atomic_ref<std::uint32_t> slot(std::int64_t row) const {
    return std::atomic_ref(slots_[static_cast<std::size_t>(row)]);
  }
  void make_room(std::int64_t copies);
  void prefetch_slot(std::int64_t row) const {
    if (row < rows_.rows) kernels::prefetch_to_write(&slots_[static_cast<std::size_t>(row)]);
  }
  /// Prefetches a row that is to be copied, perhaps by another thread.
  void prefetch_row(std::int64_t row) const {
    if (row >= rows_.rows || slot(row).load(std::memory_order_relaxed) != unchanged) return;
    kernels::prefetch(rows_.values + row * rows_.value_bytes(), rows_.value_bytes());
    kernels::prefetch(rows_.state + row * rows_.state_size(), 4 * rows_.state_size());
  }
  void keep(std::int64_t row);
  void put_back(std::int64_t row, std::int64_t at, StoredRows& read);
  std::byte* copy_at(std::int64_t number) const {
    return chunks_[static_cast<std::size_t>(number / chunk_rows)].get() + number % chunk_rows * row_bytes();
  }
  std::int64_t row_bytes() const { return rows_.value_bytes() + 4 * rows_.state_size(); }

  static constexpr std::int64_t chunk_rows = 4096;

  RowArrays rows_;
  std::unique_ptr<std::uint32_t[], Free> slots_;  ///< [rows]
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::atomic<std::int64_t> used_ = 0;
};

}  // namespace shardmark::workloads
