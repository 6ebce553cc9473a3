// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "comm/placement/statistics/row_distribution.hpp"
#include "comm/placement/statistics/row_popularity.hpp"

namespace shardmark::placement {

/// What some samples look up, as it was counted.
struct MeasuredIds {
  /// Bags by their number of ids, ascending: {ids, bags}.
  using BagLengths = std::vector<std::pair<std::int64_t, std::int64_t>>;

  std::int64_t samples = 0;           ///< at least 1
  std::vector<BagLengths> features;   ///< `samples` bags of each
  std::vector<RowPopularity> tables;  ///< of all features that read the table

  bool operator==(const MeasuredIds&) const = default;
};

nlohmann::ordered_json to_json(const MeasuredIds& ids);
/// Throws InputError naming `origin` where a key is missing or mistyped, or numbers contradict each other.
MeasuredIds measured_ids_from_json(const nlohmann::ordered_json& json, std::string_view origin);

/// Throws InputError unless they are of such tables and features.
void require_fitting(const MeasuredIds& ids, std::span<const Table> tables, std::span<const Feature> features);

/// Samples like the counted ones, in any order. bags: of the features that read the table.
///
/// A row that c ids of N samples name is named by n of these samples with the probability
///   1 - (N - c choose n) / (N choose n)
/// (rarefaction: Hurlbert, Ecology 52, 1971), which is what n drawn from N would give without replacement, and so
/// without bias of more samples of which N were counted. The product of min(c, n) terms is taken as a power of its
/// middle one. More than N samples are taken to repeat them. Ids of a bag are taken to be apart, rows that are not
/// counted singly to lie evenly in their range, and features that share a table to read the same rows.
std::unique_ptr<RowDistribution> measured_rows(const RowPopularity& popularity, std::int64_t samples,
                                               std::span<const MeasuredIds::BagLengths> bags);

}  // namespace shardmark::placement
