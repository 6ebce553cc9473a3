// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "comm/placement/statistics/id_statistics.hpp"
#include "comm/placement/statistics/plan_counts.hpp"
#include "comm/placement/statistics/row_distribution.hpp"

namespace shardmark::placement {

/// Computes what the samples of a workload look up, in expectation. Answers are kept: tables of one size whose ids are
/// drawn alike share them, however many there are. Tables and features outlive the object. It is not thread-safe.
class LookupStatistics {
 public:
  /// Throws InputError when `ids` were measured on other tables or features.
  LookupStatistics(std::span<const Table> tables, std::span<const Feature> features, const IdStatistics& ids);

  std::span<const Table> tables() const { return tables_; }
  std::span<const Feature> features() const { return features_; }

  /// Returns whether two tables have equally many rows and ids that are drawn alike.
  bool alike(std::int64_t one, std::int64_t other) const { return kind_of_[one] == kind_of_[other]; }

  /// Returns what `samples` samples look up in some rows of a table. The reference is valid as long as the object.
  const ShardCounts& expected(std::int64_t table, const RowSet& rows, std::int64_t samples) const;

  /// Returns how many keys of `samples` samples a table of any keys is expected not to know; 0 for others.
  double new_keys(std::int64_t table, std::int64_t samples) const;

  /// Returns the share of a table's looked-up ids that name these rows, 0 to 1; 0 for a table that no feature reads.
  double mass(std::int64_t table, const RowSet& rows) const;

  /// Returns the least n such that rows [0, n) are named by at least this share of a table's looked-up ids, 0 to 1. For
  /// a table that no feature reads it returns all rows.
  std::int64_t hot_rows(std::int64_t table, double share) const;

 private:
  struct Question {
    RowSet rows;
    std::int64_t samples = 0;
    bool operator==(const Question&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Question& question) const;
  };
  /// A Kind stands for the tables of equally many rows that are read alike.
  struct Kind {
    std::vector<Feature> features;
    std::unique_ptr<RowDistribution> rows;
    mutable std::unordered_map<Question, ShardCounts, Hash> known;
  };

  std::unique_ptr<RowDistribution> placed(std::size_t table, std::unique_ptr<RowDistribution> rows) const;
  void draw(const IdStatistics& ids, const std::vector<std::vector<Feature>>& readers);
  void take(const MeasuredIds& ids, const std::vector<std::vector<Feature>>& readers);
  ShardCounts counted(const Kind& kind, const RowSet& rows, std::int64_t samples) const;

  std::span<const Table> tables_;
  std::span<const Feature> features_;
  IdStatistics ids_;
  std::vector<Kind> kinds_;
  std::vector<std::size_t> kind_of_;  ///< by table
};

}  // namespace shardmark::placement
