// SPDX-License-Identifier: Apache-2.0
#include "reference/touched_table.hpp"

#include <cmath>

#include "reference/row_quantization.hpp"
#include "reference/stochastic_rounding.hpp"

namespace shardmark::reference {

TouchedTable::TouchedTable(const Table& table, std::int64_t number, const RowValues& initial)
    : table_(table), number_(number), initial_(initial), state_size_(state_per_row(table.optimizer.kind, table.dim)) {}

std::int64_t TouchedTable::touch(std::int64_t row) {
  const auto [entry, is_new] = slot_of_.try_emplace(row, std::ssize(rows_));
  if (is_new) {
    rows_.push_back(row);
    fill_values(row);
    for (std::int64_t i = 0; i < state_size_; ++i) state_.push_back(initial_state(table_.optimizer, table_.dim, i));
    state_bounds_.resize(state_.size(), 0.0F);
  }
  return entry->second;
}

void TouchedTable::fill_values(std::int64_t row) {
  std::vector<float> values;
  for (std::int64_t c = 0; c < table_.dim; ++c) values.push_back(initial_(number_, row, c));
  const RowScale scale = table_.value_type == ValueType::int8 ? row_scale(values) : RowScale{};
  for (const float x : values) {
    const bool bytes = table_.value_type == ValueType::int8;
    const float stored = bytes ? scale.value(scale.quantized(x)) : rounded_to(table_.value_type, x);
    values_.push_back(stored);
    value_bounds_.push_back(bytes ? 0x1p-24F * (std::abs(stored - scale.offset) + 2 * std::abs(stored)) : 0.0F);
  }
}

std::int64_t TouchedTable::find(std::int64_t row) const {
  const auto entry = slot_of_.find(row);
  return entry == slot_of_.end() ? -1 : entry->second;
}

}  // namespace shardmark::reference
