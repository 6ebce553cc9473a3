// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "comm/placement/plan.hpp"
#include "comm/placement/statistics/id_statistics.hpp"

namespace shardmark::placement {

/// Describes how the ids of one table fall on its rows. It is not thread-safe.
class RowDistribution {
 public:
  virtual ~RowDistribution() = default;

  /// Returns the share of the ids that name these rows, 0 to 1.
  virtual double mass(const RowSet& rows) const = 0;

  /// Returns how many of these rows that many samples are expected to name, by all features that read the table.
  virtual double distinct(const RowSet& rows, std::int64_t samples) const = 0;

  /// Returns the probability that a pooled bag of feature number `feature`, among those that read the table, names rows
  /// of this mass.
  virtual double touched(std::size_t feature, double mass) const = 0;

  /// Returns the ids per sample of feature number `feature`.
  virtual double hotness(std::size_t feature) const = 0;
};

/// Returns the distribution of ids that are drawn from a law. features: those that read the table.
///
/// A row of probability p is named by a bag of h ids with probability 1 - (1 - p)^h, and by some of n samples with 1 -
/// (the product of (1 - p)^h over features)^n, which is summed over rows: the first 64 of a row set one by one, later
/// ones by smooth_sum.hpp. What follows the first 64 of a set k, k + S, ... is nearly a polynomial in k and computed
/// once for all k < S, so that the shards of a table split modulo S take 64 terms each. The result is within 1e-6 of
/// the sum for alpha up to 3. With scattered rows, every set is assumed to hold its share of each probability.
std::unique_ptr<RowDistribution> drawn_rows(std::int64_t rows, std::span<const Feature> features,
                                            const IdStatistics& ids);

/// Returns how many rows a batch of that many samples and the one before are both expected to name, where each bag of a
/// sample is that of the batch before with probability `kept`, and drawn anew otherwise. A row that a bag misses with
/// probability m is missed by both bags with kept m + (1 - kept) m^2, by neither batch with the product of that over
/// all bags.
double repeated_rows(std::int64_t rows, std::span<const Feature> features, const IdStatistics& ids,
                     std::int64_t samples, double kept);

/// Returns the same distribution on shards that hold buckets of the keys of a table (HeldRows): the hottest rows of a
/// power law, the first ones, wherever their buckets are, and of the others as many as the shard has of all rows.
std::unique_ptr<RowDistribution> bucketed_rows(std::unique_ptr<RowDistribution> rows, const Table& table,
                                               std::int64_t number);

}  // namespace shardmark::placement
