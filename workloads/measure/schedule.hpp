// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "results/record.hpp"
#include "results/statistics.hpp"
#include "workloads/cases/options.hpp"

namespace shardmark {

/// How `n` things that are measured take turns in a round: each once, in a random order, so that a drift of the machine
/// meets all alike. `what` sets orders of the same round apart.
std::vector<std::size_t> order_of_turns(std::size_t n, std::uint64_t seed, std::int64_t round, std::int64_t what = 0);

/// Fewest rounds, one visit of a case in each, after which the interval of its median is one of 95 %.
inline constexpr std::int64_t least_rounds = samples_for_interval;

/// Timed steps of a visit, when one step takes so long: as many as `visit_seconds` hold, 2 to 200; with options.steps a
/// sixth of them, one visit in each of the least rounds.
std::int64_t steps_per_visit(const RunOptions& options, double visit_seconds, double step_seconds);

/// How long a visit of one of so many cases lasts when `left_seconds` are left after so many rounds: a quarter of a
/// second, less when the least rounds would not fit otherwise. Half of a visit is not timed.
double seconds_of_visit(double left_seconds, std::int64_t rounds, std::size_t cases);

/// What is known of a case after some rounds.
struct Standing {
  double median = 0.0, low = 0.0, high = 0.0;  ///< ms of a step, and its interval
  std::int64_t steps = 0, visits = 0;
  bool right = true;     ///< no wrong value
  bool stopped = false;  ///< no more visits
};
Standing standing_of(const StepTime& time, bool right, bool stopped);

/// The cases, not stopped yet, that are certainly slower than the best one that is right: both have an interval, and
/// theirs begins more than 3 % above the end of its (Maron and Moore, Hoeffding races, 1994; with order statistics in
/// place of Hoeffding's bound). None with options.steps.
std::vector<std::size_t> certainly_slower(const RunOptions& options, std::span<const Standing> cases);

/// Whether the measurement ends after so many rounds. With options.steps: when every case has as many. Else when the
/// time is up (the least rounds are made in any case, unless there is a budget), or when all cases that are not stopped
/// are known to 2.5 %.
bool is_done(const RunOptions& options, std::int64_t rounds, bool time_is_up, std::span<const Standing> cases);

}  // namespace shardmark
