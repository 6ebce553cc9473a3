// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "results/record.hpp"
#include "results/statistics.hpp"
#include "results/time_ratio.hpp"
#include "workloads/cases/options.hpp"

namespace shardmark::workloads {

/// Returns the order in which `n` things are measured in a round: each once, in a random order, so that a drift of the
/// machine affects all alike. `what` makes orders of the same round different.
std::vector<std::size_t> order_of_turns(std::size_t n, std::uint64_t seed, std::int64_t round, std::int64_t what = 0);

/// This is the least number of rounds, one visit of a case in each, after which the interval of its median is one of 95
/// %.
inline constexpr std::int64_t least_rounds = results::samples_for_interval;

/// Returns the number of timed steps of a visit, when one step takes so long: as many as `visit_seconds` hold, 2 to
/// 200; with options.steps a sixth of them, one visit in each of the least rounds.
std::int64_t steps_per_visit(const RunOptions& options, double visit_seconds, double step_seconds);

/// Returns how long a visit of one of so many cases lasts when `left_seconds` are left after so many rounds: a quarter
/// of a second, less when the least rounds would not fit otherwise. Half of a visit is not timed.
double seconds_of_visit(double left_seconds, std::int64_t rounds, std::size_t cases);

/// Returns the number of rounds in which each case takes so many steps (options.steps).
std::int64_t rounds_of_steps(std::int64_t steps);

/// Returns how many of the batches that were timed are checked at last, when one takes so many seconds: all of them
/// where options.steps sets how many are timed. Else as many as take no longer than the rounds may (`round_seconds`),
/// or a third of options.budget; no fewer than options.checked_steps.
std::int64_t steps_of_last_checks(const RunOptions& options, std::int64_t timed_batches, double seconds_of_one,
                                  double round_seconds);

/// Returns how long everything takes at most that is still to be done after so many rounds, each of which takes
/// `round_seconds`: the rounds to come, for which `left_seconds` are left, and the last checks.
double seconds_to_go(const RunOptions& options, std::int64_t rounds, double round_seconds, double left_seconds,
                     double seconds_of_last_checks);

/// Holds what is known of a case after some rounds, in each of which it was visited until it was stopped.
struct Standing {
  results::StepTime time;
  bool right = true;     ///< no wrong value
  bool stopped = false;  ///< no more visits
};

/// Returns the cases, not stopped yet, that are certainly slower than the best one that is right: within the rounds
/// that both were visited in, of which there are enough for an interval, the interval of their ratio
/// (results/time_ratio.hpp) begins above 1.03, at a fiftieth of the error, since each round tests it (Maron and Moore,
/// Hoeffding races, 1994; with signed ranks in place of Hoeffding's bound). Returns none with options.steps.
std::vector<std::size_t> certainly_slower(const RunOptions& options, const std::vector<Standing>& cases);

/// Returns whether the measurement ends: when a budget is spent; with options.steps when every case has as many; else
/// when the time is up, after the least rounds, or when of all cases that are not stopped both the median and the ratio
/// to the best are known to 2.5 %, in enough rounds for as many comparisons.
bool is_done(const RunOptions& options, std::int64_t rounds, bool time_is_up, const std::vector<Standing>& cases);

}  // namespace shardmark::workloads
