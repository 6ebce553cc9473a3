// SPDX-License-Identifier: Apache-2.0
#include "reference/touched_table.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/rounding.hpp"
#include "reference/row_quantization.hpp"

namespace shardmark::reference {
namespace {

/// Stores a row as the value type does. int8: also bounds how far a fused multiply-add may be from it.
void store(ValueType type, std::span<float> values, std::span<float> bounds) {
  if (type != ValueType::int8) {
    for (float& x : values) x = rounded_to(type, x);
    return;
  }
  const RowScale scale = row_scale(values);
  for (std::size_t c = 0; c < values.size(); ++c) {
    values[c] = scale.value(scale.quantized(values[c]));
    bounds[c] += 0x1p-24F * (std::abs(values[c] - scale.offset) + 2 * std::abs(values[c]));
  }
}

}  // namespace

TouchedTable::TouchedTable(const Table& table, std::int64_t number, const RowValues& initial)
    : TouchedTable(table, number, initial.seed, [number, initial](std::int64_t row, std::span<float> values, auto) {
        for (std::size_t c = 0; c < values.size(); ++c) values[c] = initial(number, row, static_cast<std::int64_t>(c));
      }) {}

TouchedTable::TouchedTable(const Table& table, std::int64_t number, std::uint64_t seed, InitialRow initial)
    : table_(table),
      number_(number),
      seed_(seed),
      initial_(std::move(initial)),
      state_size_(state_per_row(table.optimizer.kind, table.dim)) {}

std::int64_t TouchedTable::touch(std::int64_t row) {
  const auto [entry, is_new] = slot_of_.try_emplace(row, std::ssize(rows_));
  if (is_new) {
    rows_.push_back(row);
    values_.resize(values_.size() + static_cast<std::size_t>(table_.dim));
    value_bounds_.resize(values_.size());
    initial_(row, values(entry->second), value_bounds(entry->second));
    store(table_.value_type, values(entry->second), value_bounds(entry->second));
    for (std::int64_t i = 0; i < state_size_; ++i) state_.push_back(initial_state(table_.optimizer, table_.dim, i));
    state_bounds_.resize(state_.size(), 0.0F);
  }
  return entry->second;
}

void TouchedTable::forget(std::int64_t row) {
  const std::int64_t slot = slot_of_.at(row), last = std::ssize(rows_) - 1;
  const auto move_last = [&](std::vector<float>& all, std::int64_t width) {
    std::ranges::copy(row_of(all, last, width), row_of(all, slot, width).begin());
    all.resize(static_cast<std::size_t>(last * width));
  };
  for (auto* all : {&values_, &value_bounds_}) move_last(*all, table_.dim);
  for (auto* all : {&state_, &state_bounds_}) move_last(*all, state_size_);
  slot_of_[rows_[last]] = slot;
  rows_[slot] = rows_[last];
  rows_.pop_back();
  slot_of_.erase(row);
}

std::int64_t TouchedTable::find(std::int64_t row) const {
  const auto entry = slot_of_.find(row);
  return entry == slot_of_.end() ? -1 : entry->second;
}

}  // namespace shardmark::reference
