// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/table/answer.hpp"

namespace shardmark::results {

/// These functions return what to try next, each for one condition, or nothing where it does not apply. The findings
/// must have a valid case.
std::optional<std::string> if_build_is_slow(const Findings& findings);
std::optional<std::string> if_threads_exceed_cores(const Findings& findings);
std::optional<std::string> if_one_plan_was_measured(const Findings& findings);
std::optional<std::string> if_intervals_are_wide(const Findings& findings);
std::optional<std::string> if_rows_are_split_one_way(const Findings& findings);
std::optional<std::string> if_exchanges_dominate(const Findings& findings);
std::optional<std::string> if_calls_are_exposed(const Findings& findings);
std::optional<std::string> if_ranks_are_unequal(const Findings& findings);
std::optional<std::string> if_lookup_dominates(const Findings& findings);
std::optional<std::string> if_updates_dominate(const Findings& findings);
std::optional<std::string> if_tables_are_scaled(const Findings& findings);

struct Rule {
  std::string_view name;
  std::optional<std::string> (*advise)(const Findings& findings);
};

/// Lists the rules in the order in which they matter: first what makes the figures mean less, then what was not
/// measured, then where the time goes.
inline constexpr std::array rules{
    Rule{"slow build", if_build_is_slow},          Rule{"threads", if_threads_exceed_cores},
    Rule{"one plan", if_one_plan_was_measured},    Rule{"wide intervals", if_intervals_are_wide},
    Rule{"split rows", if_rows_are_split_one_way}, Rule{"exchanges", if_exchanges_dominate},
    Rule{"exposed calls", if_calls_are_exposed},   Rule{"unequal ranks", if_ranks_are_unequal},
    Rule{"lookup", if_lookup_dominates},           Rule{"updates", if_updates_dominate},
    Rule{"scale", if_tables_are_scaled},
};

/// Returns "Next: ..." for at most the first three rules that apply.
std::vector<std::string> advice(const Findings& findings);

}  // namespace shardmark::results
