// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/statistics/lookup_statistics.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "comm/placement/statistics/measured_ids.hpp"
#include "reference/storage.hpp"

namespace shardmark::placement {
namespace {

/// Holds what decides the counts of a table, whatever its number.
struct Reads {
  std::int64_t rows = 0;
  std::int64_t number = -1;  ///< of a table whose keys lie by buckets, which are its own
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> features;  ///< hotness, segments, bags per sample

  auto operator<=>(const Reads&) const = default;
};

Reads reads_of(const Table& table, std::int64_t number, const std::vector<Feature>& features) {
  Reads reads{.rows = table.rows, .number = storage_of(table).comes_and_goes ? number : -1, .features = {}};
  for (const Feature& feature : features)
    reads.features.emplace_back(feature.hotness, feature.segments, bags_per_sample(feature));
  std::ranges::sort(reads.features);
  return reads;
}

}  // namespace

LookupStatistics::LookupStatistics(std::span<const Table> tables, std::span<const Feature> features,
                                   const IdStatistics& ids)
    : tables_(tables), features_(features), ids_(ids) {
  std::vector<std::vector<Feature>> readers(tables.size());
  for (const Feature& feature : features) readers[feature.table].push_back(feature);
  ids.measured ? take(*ids.measured, readers) : draw(ids, readers);
}

std::unique_ptr<RowDistribution> LookupStatistics::placed(std::size_t table,
                                                          std::unique_ptr<RowDistribution> rows) const {
  if (!storage_of(tables_[table]).comes_and_goes) return rows;
  return bucketed_rows(std::move(rows), tables_[table], static_cast<std::int64_t>(table));
}

void LookupStatistics::draw(const IdStatistics& ids, const std::vector<std::vector<Feature>>& readers) {
  std::map<Reads, std::size_t> known;
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    const auto [kind, is_new] =
        known.try_emplace(reads_of(tables_[t], static_cast<std::int64_t>(t), readers[t]), kinds_.size());
    kind_of_.push_back(kind->second);
    if (is_new) kinds_.push_back({readers[t], placed(t, drawn_rows(tables_[t].rows, readers[t], ids)), {}});
  }
}

void LookupStatistics::take(const MeasuredIds& ids, const std::vector<std::vector<Feature>>& readers) {
  require_fitting(ids, tables_, features_);
  std::vector<std::vector<MeasuredIds::BagLengths>> bags(tables_.size());
  for (std::size_t f = 0; f < features_.size(); ++f) bags[features_[f].table].push_back(ids.features[f]);
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    kind_of_.push_back(t);
    kinds_.push_back({readers[t], placed(t, measured_rows(ids.tables[t], ids.samples, bags[t])), {}});
  }
}

std::size_t LookupStatistics::Hash::operator()(const Question& question) const {
  std::uint64_t bits = 0;
  for (const std::int64_t number : {question.rows.begin, question.rows.end, question.rows.stride, question.samples}) {
    bits = (bits ^ static_cast<std::uint64_t>(number)) * 0x9e3779b97f4a7c15ULL;
    bits ^= bits >> 32;
  }
  return bits;
}

const ShardCounts& LookupStatistics::expected(std::int64_t table, const RowSet& rows, std::int64_t samples) const {
  const Kind& kind = kinds_[kind_of_[table]];
  const Question question{rows, samples};
  if (const auto found = kind.known.find(question); found != kind.known.end()) return found->second;
  return kind.known.emplace(question, counted(kind, rows, samples)).first->second;
}

ShardCounts LookupStatistics::counted(const Kind& kind, const RowSet& rows, std::int64_t samples) const {
  ShardCounts counts;
  if (kind.features.empty() || samples == 0) return counts;
  const double held = kind.rows->mass(rows);
  for (std::size_t f = 0; f < kind.features.size(); ++f) {
    const auto of_all = static_cast<double>(samples);
    const double ids = of_all * kind.rows->hotness(f);
    const bool pooled = kind.features[f].pooling != Pooling::none;
    const double bags = pooled ? of_all * static_cast<double>(bags_per_sample(kind.features[f])) : ids;
    counts.bags += bags;
    counts.ids += ids * held;
    counts.touched_bags += pooled ? bags * kind.rows->touched(f, held) : ids * held;
  }
  counts.distinct_rows = kind.rows->distinct(rows, samples);
  return counts;
}

double LookupStatistics::new_keys(std::int64_t table, std::int64_t samples) const {
  const Table& of = tables_[table];
  if (!of.any_key || ids_.measured) return 0.0;
  double ids = 0.0;
  for (const Feature& feature : kinds_[kind_of_[table]].features) ids += static_cast<double>(samples * feature.hotness);
  return ids_.new_keys(ids, static_cast<double>(of.rows));
}

double LookupStatistics::mass(std::int64_t table, const RowSet& rows) const {
  const Kind& kind = kinds_[kind_of_[table]];
  return kind.features.empty() ? 0.0 : kind.rows->mass(rows);
}

std::int64_t LookupStatistics::hot_rows(std::int64_t table, double share) const {
  std::int64_t too_few = -1, enough = tables_[table].rows;
  while (enough - too_few > 1) {
    const std::int64_t middle = too_few + (enough - too_few) / 2;
    (mass(table, {0, middle, 1}) < share ? too_few : enough) = middle;
  }
  return enough;
}

}  // namespace shardmark::placement
