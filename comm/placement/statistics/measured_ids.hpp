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

/// Holds what some samples look up, as it was counted.
struct MeasuredIds {
  /// Counts bags by their number of ids, ascending: {ids, bags}.
  using BagLengths = std::vector<std::pair<std::int64_t, std::int64_t>>;

  std::int64_t samples = 0;           ///< at least 1
  std::vector<BagLengths> features;   ///< `samples` bags of each
  std::vector<RowPopularity> tables;  ///< of all features that read the table

  bool operator==(const MeasuredIds&) const = default;
};

nlohmann::ordered_json to_json(const MeasuredIds& ids);
/// Reads the JSON of to_json. Throws InputError naming `origin` where a key is missing or mistyped, or numbers
/// contradict each other.
MeasuredIds measured_ids_from_json(const nlohmann::ordered_json& json, std::string_view origin);

/// Throws InputError unless the ids were measured on such tables and features.
void require_fitting(const MeasuredIds& ids, std::span<const Table> tables, std::span<const Feature> features);

/// Returns the distribution of samples like the counted ones, in any order. bags: of the features that read the table.
///
/// A row that c ids of N samples name is named by n of these samples with the probability
///   1 - (N - c choose n) / (N choose n)
/// (rarefaction: Hurlbert, Ecology 52, 1971). n samples drawn from N without replacement would give it, and it is
/// without bias where the N samples were themselves drawn from more. The product of min(c, n) terms is approximated by
/// a power of its middle one. More than N samples are assumed to repeat them. The ids of a bag are assumed to be
/// different, rows that are not counted singly to lie evenly in their range, and features that share a table to read
/// the same rows.
std::unique_ptr<RowDistribution> measured_rows(const RowPopularity& popularity, std::int64_t samples,
                                               std::span<const MeasuredIds::BagLengths> bags);

}  // namespace shardmark::placement
