// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "reference/dynamic/dynamic_rules.hpp"
#include "reference/key_range.hpp"
#include "reference/optimizer.hpp"
#include "reference/pooling.hpp"
#include "reference/tensor_train/tensor_train.hpp"
#include "reference/value_type.hpp"

namespace shardmark::reference {

/// Selects what represents the rows of a table in memory; storage.hpp has the table of choices.
enum class Storage { dense, tt, dynamic };

/// Is an embedding table: `rows` vectors of `dim` values. The keys of most tables are the numbers of their rows.
struct Table {
  std::string name;
  std::int64_t rows = 0;  ///< with any_key: how many keys are expected
  std::int64_t dim = 0;
  Optimizer optimizer{};
  Storage storage = Storage::dense;
  ValueType value_type = ValueType::fp32;
  bool stochastic_rounding = false;  ///< of updated values of fp16 and bf16; else to nearest
  TensorTrain tensor_train{};        ///< of Storage::tt
  DynamicRules dynamic{};            ///< of Storage::dynamic
  bool any_key = false;              ///< of Storage::dynamic: keys are any of the 2^64 integers, and none is reserved
  KeyRange keys = KeyRange::all();   ///< with any_key: those that may come
  std::int64_t room = 0;             ///< with any_key: most rows at a time; 0: as many as are expected

  std::int64_t most_rows() const { return room > 0 ? room : rows; }
};

/// Returns the key that a generator gives to id number `id` of a table of any keys, `number` of its workload: its
/// scattered_key, or what lies `id` places behind the first of its vocabulary.
inline std::int64_t drawn_key(const Table& table, std::int64_t number, std::int64_t id) {
  return table.keys == KeyRange::all() ? scattered_key(number, id) : table.keys.key_at(static_cast<std::uint64_t>(id));
}

/// Returns whether any of the tables has keys that are any of the 2^64 integers.
inline bool has_any_keys(const std::vector<Table>& tables) {
  for (const Table& table : tables)
    if (table.any_key) return true;
  return false;
}

/// Is one lookup: bags of ids of a sample into table number `table`, pooled. Several features may share a table. The
/// ids of a sample may be nested: they are a list of segments, such as the baskets of a customer, and a segment is a
/// list of ids. segment_rank then selects what is a bag (HybridBackend's emb_segment_rank): 0 the sample, 1 the
/// segment.
struct Feature {
  std::string name;
  std::int64_t table = 0;
  Pooling pooling = Pooling::sum;
  std::int64_t hotness = 1;   ///< ids per sample that a generator draws
  std::int64_t segments = 0;  ///< per sample, equal shares of its hotness; 0: its ids are not nested
  std::int64_t segment_rank = 0;
};

/// Returns whether every sample has one bag, however many ids and segments it has.
inline bool has_bag_per_sample(const Feature& feature) {
  return feature.pooling != Pooling::none && feature.segment_rank == 0;
}

/// Returns the bags of a sample that a generator draws, the mean where their number is ragged: vectors per sample.
inline std::int64_t bags_per_sample(const Feature& feature) {
  if (feature.pooling == Pooling::none) return feature.hotness;
  return feature.segment_rank == 0 ? 1 : feature.segments;
}

/// Returns what decides the ids, bags and pooling of a feature, whatever its name and table.
inline auto reading_of(const Feature& feature) {
  return std::tuple(feature.hotness, feature.pooling, feature.segments, feature.segment_rank);
}

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::bags_per_sample, reference::drawn_key, reference::Feature, reference::has_any_keys,
    reference::has_bag_per_sample, reference::reading_of, reference::Storage, reference::Table;
}  // namespace shardmark
