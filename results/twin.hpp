// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "results/record.hpp"
#include "results/time_ratio.hpp"

namespace shardmark::results {

/// Describes a case that was measured twice, as two cases of one job: it shows how far apart two cases lie here that do
/// not differ at all.
struct Twin {
  std::int64_t first_round = 0;  ///< from which on it was measured the second time too
  StepTime again;                ///< the second time
  TimeRatio ratio;               ///< second / first, within their rounds, by itself
  double smallest_shown = 0.0;   ///< by this job with 9 chances of 10 (time_ratio.hpp); 0: too few rounds to tell
};

/// Compares the two measurements. comparisons: as many as the answer makes with its best case, whose intervals are as
/// wide.
Twin twin_of(const StepTime& first, StepTime again, std::int64_t first_round, std::int64_t comparisons);

/// Names the field of a record, "twin", of the case that was measured twice. It holds {"first_round", "samples",
/// "visits", "rounds", "ratio", "low", "high"[, "smallest_shown"]}.
inline constexpr char twin_field[] = "twin";
nlohmann::ordered_json to_json(const Twin& twin);
/// Reads a twin, without `again`; nothing where a record's details have none, or none that can be read.
std::optional<Twin> twin_of(const nlohmann::ordered_json& details);

}  // namespace shardmark::results
