// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/launch.hpp"
#include "results/shift.hpp"

namespace shardmark::results {

/// Says how a case changed from OLD to NEW. Times are compared, so less is better.
enum class Change {
  better,
  worse,    ///< slower by more than the margin, and significantly so; or an error in NEW where OLD has none
  same,     ///< the interval of the ratio lies within the smallest effect of interest
  unclear,  ///< none of these could be shown, or a launch was disturbed: not a pass
  missing   ///< no times on one side
};

struct ComparisonOptions {
  double min_effect = 0.03;  ///< smallest effect of interest: 0.03 is 3 %
  double alpha = 0.05;       ///< chance of any better or worse at all when nothing differs
  bool paired = false;       ///< launch i of OLD ran next to launch i of NEW, which of them first being drawn
  std::optional<double> fail_above = {};  ///< 0.1: a case that is more than 10 % slower fails
};

struct CaseComparison {
  std::string name;
  double old_ms = 0.0, new_ms = 0.0;  ///< medians over the launches of the medians within them
  double ratio = 0.0;                 ///< new / old, as paired_shift() or unpaired_shift() estimate it
  double low = 0.0, high = 0.0;       ///< its 95 % confidence interval
  std::optional<double> floor = {};   ///< noise of the ratio: 0.02 is 2 %; nothing with fewer than 3 A/A launches
  double p = 1.0;                     ///< adjusted for the number of cases
  Change change = Change::missing;
  /// The gate is red for this case: it is slower by more than options.fail_above, with its interval above 1 where there
  /// are launches enough for one. This needs no floor and does not adjust for the number of cases. A case with an error
  /// in NEW alone fails too.
  bool fails = false;
  std::string advice = {};  ///< of unclear and missing: why, and what to run; of an error: its message
};

/// Compares the cases in the order of OLD, those of NEW alone behind them. `aa_launches` are launches of one program in
/// the order in which they ran, from which the noise floors come; OLD itself when there are none. Paired needs as many
/// launches of OLD as of NEW; throws InputError when their numbers differ. docs/comparison.md states the formulas.
std::vector<CaseComparison> compare(std::span<const Launch> old_launches, std::span<const Launch> new_launches,
                                    std::span<const Launch> aa_launches, const ComparisonOptions& options);

/// Returns the noise of the logarithm of the ratio, from the log times of one case in launches of one program, in the
/// order in which they ran. In pairs it is 2 s / sqrt(pairs), s = 1.4826 median |x(i+1) - x(i)|, the spread of
/// neighbours. Otherwise it is 2 s with the median over all |x(i) - x(j)|: launches of one hour share its drift, which
/// their number does not average out. It returns nothing when there are fewer than 3 launches.
std::optional<double> noise_floor(std::span<const double> log_times, bool paired, std::int64_t pairs);

/// Holds the smallest change that launches of one program can show as OLD of later ones.
struct BaselineFloor {
  std::string name;
  std::optional<double> unpaired,
      paired;  ///< noise_floor() of the ratio, not in pairs and in as many pairs: 0.02 is 2 %
};
/// Returns the floor of each case, the noisiest first; nothing with fewer than 3 launches.
std::vector<BaselineFloor> baseline_floors(std::span<const Launch> launches);

/// Returns whether there are enough launches for a p-value of at most 5 %.
bool enough_launches(std::int64_t old_launches, std::int64_t new_launches, bool paired);

}  // namespace shardmark::results
