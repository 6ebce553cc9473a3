// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/results_table.hpp"

namespace shardmark::results {

/// Says what stays the same on more ranks.
enum class Scaling { strong, weak, neither };
inline constexpr std::array<std::string_view, 3> scaling_names{"strong", "weak", "neither"};

/// Holds what the launches on one number of ranks and nodes came to for one plan, or one case.
struct ScalingRow {
  const CaseRecord* record = nullptr;  ///< of the first of these launches
  std::int64_t line = 0;               ///< rows of one number are a plan, or case, on more and more ranks
  std::int64_t nodes = 1;
  std::int64_t launches = 1;
  double median = 0.0;           ///< ms of a step; of several launches the median of theirs
  double low = 0.0, high = 0.0;  ///< its interval; of several launches from the least to the most of theirs
  double speedup = 1.0;          ///< samples/s over those of the fewest ranks of the same plan or case
  double efficiency = 1.0;       ///< speedup / how many times as many ranks

  double samples_per_s() const { return 1e3 * static_cast<double>(record->global_batch()) / median; }
};

/// Holds launches on different numbers of ranks or nodes beside each other.
struct ScalingTable {
  Scaling scaling = Scaling::strong;
  /// Says, a line each, what differs between the files so that their times may not stand in one table; no rows then.
  std::vector<std::string> differing;
  std::vector<ScalingRow> rows;  ///< a plan after the other, the fastest on the most ranks first; by ranks and nodes
};

/// Returns the number of nodes on which the ranks of a run were.
std::int64_t nodes_of(const nlohmann::ordered_json& environment);

/// Puts launches beside each other: the fastest valid case of each plan on each number of ranks, or with `all` each
/// case. Returns nothing unless there are several files of cases, with different numbers of ranks or nodes.
std::optional<ScalingTable> scaling_of(std::span<const Report> reports, bool all);

/// Prints the table: as lines of text, as Markdown, as a JSON object (as_json() has its keys).
std::string scaling_text(const ScalingTable& table, std::span<const Report> reports, const TableOptions& options);
std::string scaling_markdown(const ScalingTable& table, std::span<const Report> reports);
nlohmann::ordered_json scaling_json(const ScalingTable& table, std::span<const Report> reports);

}  // namespace shardmark::results
