// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/record.hpp"

namespace shardmark::results {

/// Checked, and no value differed from the reference.
inline bool is_valid(const CaseRecord& record) { return record.checked_steps > 0 && record.wrong == 0; }

/// The valid case that takes least time per sample, within the rounds that cases share (time_ratio.hpp); null when
/// there is none.
const CaseRecord* best_valid_case(std::span<const CaseRecord> records);

/// Puts the ratio to the best case into the details of each, so that whoever draws a record need not compute it: field
/// "vs_best" {"ratio", "low", "high", "rounds", "best_ms"} (time_ratio.hpp), best_ms being the median of the best.
/// Where there are several records, one of them valid.
inline constexpr char vs_best_field[] = "vs_best";
void record_ratios(std::vector<CaseRecord>& records);

struct Verdict {
  bool valid = false;
  std::string reason;       ///< why not; empty when valid
  std::string interrupted;  ///< why the run measured less than it should; empty when it ended
  bool disturbed = false;   ///< other processes took the processors meanwhile (disturbance.hpp)

  /// "RESULT: VALID", "RESULT: INTERRUPTED (why)" or "RESULT: INVALID (why)", the last line of a program's output; the
  /// first two with ", DISTURBED" behind where they are.
  std::string line() const;
};

/// Valid when there is a case and all of them are valid: a wrong value anywhere, or a case that was not checked
/// (--check off), makes the whole result invalid. The programs exit with 1 then.
/// `environment` is the run's, whose `state` says whether it ended: what was measured by then is valid all the same.
Verdict verdict_of(std::span<const CaseRecord> records, const nlohmann::ordered_json& environment = {});

/// The rate of the fastest case of plan `fast` over that of plan `slow`, beside the published ratio of their times:
///   fast / slow: 1.62 here, 1.845 published (source)
/// Nothing when either plan has no valid case.
std::optional<std::string> beside_published(std::span<const CaseRecord> records, std::string_view fast,
                                            std::string_view slow, double published, std::string_view source);

}  // namespace shardmark::results
