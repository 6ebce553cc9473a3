// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "results/record.hpp"

namespace shardmark::results {

/// Holds what else the processors of a job did during one visit to a case, on the node where it was most.
struct VisitConditions {
  double seconds = 0.0;             ///< the visit took
  std::int64_t switches = 0;        ///< involuntary context switches: a thread of ours lost its processor to another
  double others_cpu_seconds = 0.0;  ///< of the processors that our ranks may use, taken by other processes
  double stolen_seconds = 0.0;      ///< of the same, taken by other virtual machines
  std::int64_t runnable = 0;        ///< threads of others that ran or waited for a processor when the visit began
  double barrier_seconds = 0.0;  ///< of a barrier of the ranks of a node when it began (NearCores); 0: none was timed

  /// Returns whether others took 15 % of a processor's time and threads of ours lost their processors 40 times a
  /// second, beside the 8 times that a visit to an idle machine has shown; or other virtual machines took 5 % of a
  /// processor.
  bool is_disturbed() const;
};

/// Names the field of a record, "conditions", that holds an array with one value per visit of each of {"seconds",
/// "switches", "others_cpu_seconds", "stolen_seconds", "runnable", "barrier_us"}, and the number of "disturbed_visits".
inline constexpr char conditions_field[] = "conditions";
nlohmann::ordered_json to_json(const std::vector<VisitConditions>& visits);

/// Reads them back; returns nothing where a record's details have none, or none that can be read.
std::vector<VisitConditions> conditions_in(const nlohmann::ordered_json& details);

/// Says how a case was disturbed: in how many of its visits, and by how much on average.
struct Disturbance {
  std::int64_t disturbed_visits = 0, visits = 0;
  double others = 0.0, stolen = 0.0;  ///< processors that were taken, over all visits
  double switches_per_second = 0.0;   ///< likewise

  /// Returns whether more than a fifth of its visits were: medians and their intervals no longer hide it.
  bool is_disturbed() const { return 5 * disturbed_visits > visits; }
};
/// Reads the disturbance of a case; nothing where a record's details have no conditions, or none that can be read.
std::optional<Disturbance> disturbance_of(const nlohmann::ordered_json& details);

bool is_disturbed(const CaseRecord& record);

/// Returns a line such as "12 of 14 visits of its cases were disturbed: ..."; empty where no case is disturbed.
std::string disturbance_text(const std::vector<const CaseRecord*>& records);

}  // namespace shardmark::results
