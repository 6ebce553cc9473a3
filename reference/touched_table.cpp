// SPDX-License-Identifier: Apache-2.0
#include "reference/touched_table.hpp"

namespace shardmark::reference {

TouchedTable::TouchedTable(const Table& table, std::int64_t number, const RowValues& initial)
    : table_(table), number_(number), initial_(initial), state_size_(state_per_row(table.optimizer.kind, table.dim)) {}

std::int64_t TouchedTable::touch(std::int64_t row) {
  const auto [entry, is_new] = slot_of_.try_emplace(row, std::ssize(rows_));
  if (is_new) {
    rows_.push_back(row);
    for (std::int64_t c = 0; c < table_.dim; ++c) values_.push_back(initial_(number_, row, c));
    value_bounds_.resize(values_.size(), 0.0F);
    for (std::int64_t i = 0; i < state_size_; ++i) state_.push_back(initial_state(table_.optimizer, table_.dim, i));
    state_bounds_.resize(state_.size(), 0.0F);
  }
  return entry->second;
}

std::int64_t TouchedTable::find(std::int64_t row) const {
  const auto entry = slot_of_.find(row);
  return entry == slot_of_.end() ? -1 : entry->second;
}

}  // namespace shardmark::reference
