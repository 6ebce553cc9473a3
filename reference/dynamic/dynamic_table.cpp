// SPDX-License-Identifier: Apache-2.0
#include "reference/dynamic/dynamic_table.hpp"

#include <algorithm>

#include "reference/rounding.hpp"

namespace shardmark::reference {

DynamicTable::DynamicTable(const DynamicRules& rules, const Table& table, std::int64_t number, const RowValues& initial)
    : rules_(rules),
      table_(table),
      number_(number),
      initial_(initial),
      buckets_(KeyBuckets::of_table(number)),
      filter_(rules.admission, buckets_),
      by_bucket_(static_cast<std::size_t>(key_buckets)) {}

std::vector<float> DynamicTable::initial_values(std::int64_t key) const {
  std::vector<float> values;
  for (std::int64_t c = 0; c < table_.dim; ++c)
    values.push_back(rounded_to(table_.value_type, initial_(number_, key, c)));
  return values;
}

void DynamicTable::bring(std::int64_t step, const KeyUses& uses) {
  KeyUses absent;
  for (const auto& [key, count] : uses)
    if (!rows_.contains(key)) absent[key] = count;
  for (const std::int64_t key : filter_.admit(absent)) {
    std::vector<float> state;
    for (std::int64_t i = 0; i < state_per_row(table_.optimizer.kind, table_.dim); ++i)
      state.push_back(initial_state(table_.optimizer, table_.dim, i));
    rows_[key] = {.values = initial_values(key), .state = std::move(state), .use = {}};
    by_bucket_[buckets_.bucket(key)][key] = &rows_[key];
  }
  for (const auto& [key, count] : uses)
    if (Row* const row = find(key)) row->use.add(step, count);
}

std::vector<std::int64_t> DynamicTable::end(std::int64_t step) {
  std::vector<std::int64_t> victims;
  if (rules_.eviction.kind == EvictionKind::none) return victims;
  for (std::int64_t bucket = 0; bucket < key_buckets; ++bucket) evict(bucket, step, victims);
  for (const std::int64_t key : victims) rows_.erase(key);
  return victims;
}

void DynamicTable::evict(std::int64_t bucket, std::int64_t step, std::vector<std::int64_t>& victims) {
  const Eviction& eviction = rules_.eviction;
  auto& rows = by_bucket_[bucket];
  std::vector<Candidate> candidates;
  for (const auto& [key, row] : rows)
    if (!is_pinned(row->use, step))
      candidates.push_back(
          {eviction_score(eviction.kind, row->use,
                          [&values = row->values] { return squared_norm(values, std::ssize(values)); }),
           key});
  std::ranges::sort(candidates);
  std::int64_t leaving = std::min(beyond_capacity(eviction, bucket, std::ssize(rows)), std::ssize(candidates));
  while (is_examined(bucket, step) && leaving < std::ssize(candidates) &&
         expired(eviction, candidates[leaving].score, step))
    ++leaving;
  for (std::int64_t i = 0; i < leaving; ++i) {
    victims.push_back(candidates[i].key);
    rows.erase(candidates[i].key);
  }
}

DynamicTable::Row* DynamicTable::find(std::int64_t key) {
  const auto row = rows_.find(key);
  return row == rows_.end() ? nullptr : &row->second;
}

std::vector<float> DynamicTable::read(std::int64_t key) const {
  if (const auto row = rows_.find(key); row != rows_.end()) return row->second.values;
  if (rules_.absent == AbsentRows::initial) return initial_values(key);
  return std::vector<float>(static_cast<std::size_t>(table_.dim));
}

}  // namespace shardmark::reference
