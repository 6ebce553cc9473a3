// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/record.hpp"

namespace shardmark::results {

/// Returns whether the case was checked, and no value differed from the reference.
inline bool is_valid(const CaseRecord& record) { return record.checked_steps > 0 && record.wrong == 0; }

/// Returns the valid case that takes least time per sample, within the rounds that cases share (time_ratio.hpp); null
/// when there is none.
const CaseRecord* best_valid_case(std::span<const CaseRecord> records);

/// Names the field "vs_best" {"ratio", "low", "high", "rounds", "best_ms"} (time_ratio.hpp), where best_ms is the
/// median of the best case. record_ratios() puts the ratio to the best case into the details of each, so that a program
/// that draws a record need not compute it; it does so where there are several records, one of them valid.
inline constexpr char vs_best_field[] = "vs_best";
void record_ratios(std::vector<CaseRecord>& records);

struct Verdict {
  bool valid = false;
  std::string reason;       ///< why not; empty when valid
  std::string interrupted;  ///< why the run measured less than it should; empty when it ended
  bool disturbed = false;   ///< other processes took the processors meanwhile (disturbance.hpp)

  /// Returns "RESULT: VALID", "RESULT: INTERRUPTED (why)" or "RESULT: INVALID (why)", the last line of a program's
  /// output; ", DISTURBED" follows the first two where the result is disturbed.
  std::string line() const;
};

/// Returns the verdict on a run. It is valid when there is a case and all of them are valid: a wrong value anywhere, or
/// a case that was not checked (--check off), makes the whole result invalid. The programs exit with 1 then.
/// `environment` is the run's, whose `state` says whether it ended: what was measured by then is valid all the same.
Verdict verdict_of(std::span<const CaseRecord> records, const nlohmann::ordered_json& environment = {});

/// Returns the rate of the fastest case of plan `fast` over that of plan `slow`, beside the published ratio of their
/// times:
///   fast / slow: 1.62 here, 1.845 published (source)
/// It returns nothing when either plan has no valid case.
std::optional<std::string> beside_published(std::span<const CaseRecord> records, std::string_view fast,
                                            std::string_view slow, double published, std::string_view source);

}  // namespace shardmark::results
