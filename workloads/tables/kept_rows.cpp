// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/kept_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "kernels/huge_pages.hpp"
#include "reference/error.hpp"

namespace shardmark::workloads {

KeptRows::KeptRows(const RowArrays& rows)
    : rows_(rows),
      // What calloc gives takes memory where it is written.
      slots_(static_cast<std::uint32_t*>(std::calloc(static_cast<std::size_t>(rows.rows), sizeof(std::uint32_t)))) {
  if (rows.rows > 0 && !slots_) throw std::bad_alloc();
  if (rows.rows > std::int64_t{std::numeric_limits<std::uint32_t>::max()} - first_copy)
    throw InputError(fmt::format(
        "--save-mode behind: a shard has {} rows, and copies of them are numbered in 32 bits; use stop", rows.rows));
  kernels::advise_huge_pages(slots_.get(), std::int64_t{sizeof(std::uint32_t)} * rows.rows);
}

void KeptRows::make_room(std::int64_t copies) {
  const std::int64_t chunks = (std::min(copies, rows_.rows) + chunk_rows - 1) / chunk_rows;
  while (std::ssize(chunks_) < chunks)
    chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(chunk_rows * row_bytes())));
}

void KeptRows::keep(std::int64_t row) {
  if (row >= rows_.rows) return;
  if (slot(row).load(std::memory_order_relaxed) != unchanged) return;
  const std::int64_t number = used_.fetch_add(1, std::memory_order_relaxed);
  slot(row).store(static_cast<std::uint32_t>(first_copy + number), std::memory_order_relaxed);
  std::byte* const copy = copy_at(number);
  const auto values = static_cast<std::size_t>(rows_.value_bytes()),
             floats = static_cast<std::size_t>(rows_.state_size());
  std::memcpy(copy, rows_.values + static_cast<std::size_t>(row) * values, values);
  if (floats > 0) std::memcpy(copy + values, rows_.state + static_cast<std::size_t>(row) * floats, 4 * floats);
}

void KeptRows::put_back(std::int64_t row, std::int64_t at, StoredRows& read) {
  std::uint32_t& number = slots_[static_cast<std::size_t>(row)];
  if (number >= first_copy) {
    const std::byte* const copy = copy_at(number - first_copy);
    const auto i = static_cast<std::size_t>(at), values = static_cast<std::size_t>(rows_.value_bytes()),
               floats = static_cast<std::size_t>(rows_.state_size());
    std::memcpy(read.values.data() + i * values, copy, values);
    if (floats > 0) std::memcpy(read.state.data() + i * floats, copy + values, 4 * floats);
  }
  number = was_read;
}

}  // namespace shardmark::workloads
