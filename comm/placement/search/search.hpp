// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/placement/cost/step_cost.hpp"

namespace shardmark::placement {

struct SearchSettings {
  std::optional<double> memory;  ///< bytes that a rank may fill; absent: no limit
  double seconds = 5.0;          ///< after which the search ends wherever it is
  bool anneals = true;
  std::uint64_t seed = 1;
  std::vector<std::string_view> families;  ///< of options (table_options.hpp)
};

/// Holds a plan that the search may begin with; its result is no worse.
struct SearchStart {
  std::string name;
  std::vector<TablePlacement> placements;
};

/// Holds what is known of a plan that was found.
struct SearchReport {
  double seconds = 0.0;    ///< predicted
  double bound = 0.0;      ///< that no plan of the options is faster than (lower_bound.hpp)
  std::string best_start;  ///< the start that was best,
  double best_start_seconds = 0.0;
  std::int64_t looked_at = 0;  ///< ranks on which changes were priced
  bool late = false;           ///< whether the time was over before the budget

  /// Returns a line for people.
  std::string text() const;
};

struct SearchResult {
  std::vector<TablePlacement> placements;
  SearchReport report;
};

/// Returns the fastest plan that can be found in settings.seconds, by predict_step() (step_cost.hpp), among the options
/// of settings.families and the placements of the starts: the best of the starts and of longest-processing-time-first
/// plans, improved (local_search.hpp) and annealed (annealing.hpp), small problems several times. The same arguments
/// give the same plan unless the time is over first (late): what is done is counted, not timed. What the plan as a
/// whole decides (dedup auto, whether vectors lie at home) is first taken to be as for whole tables; where the plan
/// that is found decides otherwise, the search goes on from there as that one does. Throws InputError where a table has
/// no option, or no plan is found that fits the memory, naming the rank that lacks most and its largest table.
SearchResult search(const StepContext& step, const MachineModel& machine, const SearchSettings& settings,
                    std::span<const SearchStart> starts);

}  // namespace shardmark::placement
