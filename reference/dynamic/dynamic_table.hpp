// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "reference/dynamic/dynamic_rules.hpp"
#include "reference/row_values.hpp"
#include "reference/table.hpp"

namespace shardmark::reference {

/// Returns the rules of a table; its filter is made for as many keys as it has rows.
inline DynamicRules rules_of(const Table& table) {
  DynamicRules rules = table.dynamic;
  rules.admission.expected_keys = table.rows;
  return rules;
}

/// Is a table of unknown vocabulary, whose keys are any of the 2^64 integers. Its rows, what they hold and which of
/// them go depend on the steps alone: neither on the order of keys within a step nor on who holds which bucket. A row
/// that is evicted is forgotten, value, state and use; where its key comes back, it is a new one.
class DynamicTable {
 public:
  struct Row {
    std::vector<float> values, state;
    RowUse use;
  };

  /// number: of the table, which its initial values and its buckets are keyed by.
  DynamicTable(const DynamicRules& rules, const Table& table, std::int64_t number, const RowValues& initial);

  /// Begins a step of training: gives rows to the keys that are admitted, and pins those of all its keys until its
  /// end. Steps have ascending numbers, from 1; several may be in flight.
  void bring(std::int64_t step, const KeyUses& uses);
  /// Ends the step: evicts. Returns the victims, bucket by bucket, by score and key.
  std::vector<std::int64_t> end(std::int64_t step);

  /// Returns the row of a key, to be read and updated by the steps that have brought it; null where it has none.
  Row* find(std::int64_t key);
  /// Returns what a lookup of the key reads. It changes nothing: neither keys nor counts nor scores.
  std::vector<float> read(std::int64_t key) const;

  const std::map<std::int64_t, Row>& rows() const { return rows_; }
  const KeyFilter& filter() const { return filter_; }
  const KeyBuckets& buckets() const { return buckets_; }

 private:
  struct Candidate {
    double score;
    std::int64_t key;
    auto operator<=>(const Candidate&) const = default;
  };
  std::vector<float> initial_values(std::int64_t key) const;
  void evict(std::int64_t bucket, std::int64_t step, std::vector<std::int64_t>& victims);

  DynamicRules rules_;
  Table table_;
  std::int64_t number_;
  RowValues initial_;
  KeyBuckets buckets_;
  KeyFilter filter_;
  std::map<std::int64_t, Row> rows_;                     ///< by key
  std::vector<std::map<std::int64_t, Row*>> by_bucket_;  ///< [key_buckets] the same
};

}  // namespace shardmark::reference
