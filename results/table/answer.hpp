// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "results/table/cases.hpp"

namespace shardmark::results {

/// Holds what measured cases come to, for the answer and the advice.
struct Findings {
  const nlohmann::ordered_json& environment;
  Records cases;       ///< all of them, ranked
  Records valid;       ///< those that are
  std::string field;   ///< what the answer is about: that in which the cases differ, first of all the plan
  Records leaders;     ///< the fastest valid case of each value of the field, the fastest of all first
  double step_ms = 0;  ///< the sum of the phases of the best case; 0 where it has none

  const CaseRecord& best() const { return *leaders.front(); }
  /// Returns the ratio of two valid cases, all pairs of which are compared.
  TimeRatio beside(const CaseRecord& slow, const CaseRecord& fast) const {
    return time_ratio(slow, fast, pairs_of(std::ssize(valid)));
  }
  /// Returns the share that a phase has of the best case's step, 0 to 1; exchange_share() returns that of all
  /// exchanges.
  double share(std::string_view phase) const;
  double exchange_share() const;
  /// Returns what distinguishes the case from others of the same value of the field, such as "pairwise"; empty when
  /// nothing does.
  std::string rest_of(const CaseRecord& record) const;
  /// Returns a name such as "table_wise (exchange pairwise)".
  std::string name_of(const CaseRecord& record) const;
};
Findings findings_of(const nlohmann::ordered_json& environment, std::span<const CaseRecord> records);

/// Returns the answer in sentences: what is best, by how much against what comes next and within which interval, or
/// that the two are statistically indistinguishable; whether anything else matters; which times have two modes; where
/// its time goes; how good predictions were (predictions.hpp); what to try next (advice.hpp); what was left out; the
/// smallest difference that the job could have shown (results/twin.hpp).
std::vector<std::string> answer(const Findings& findings);

}  // namespace shardmark::results
