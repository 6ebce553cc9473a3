// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/schedule.hpp"

#include <algorithm>
#include <numeric>

#include "reference/counter_random.hpp"

namespace shardmark::workloads {
namespace {

constexpr double wanted_half_width = 0.025;
constexpr double gap_of_interest = 0.03;
constexpr std::int64_t looks = 50;  // after each round one: their errors add up
constexpr double longest_visit_seconds = 0.25;

bool is_known(const results::StepTime& time) {
  return time.visit_count() >= results::samples_for_interval &&
         time.high - time.low <= 2.0 * wanted_half_width * time.median;
}

/// Returns the best of those that are right; null where none is, or where it has no interval yet.
const results::StepTime* best_of(const std::vector<Standing>& cases) {
  std::vector<const results::StepTime*> right;
  for (const Standing& each : cases)
    if (each.right) right.push_back(&each.time);
  if (right.empty()) return nullptr;
  const results::StepTime* best = results::fastest(right);
  return best->visit_count() >= results::samples_for_interval ? best : nullptr;
}

std::int64_t comparisons(const std::vector<Standing>& cases) { return results::pairs_of(std::ssize(cases)); }

}  // namespace

std::vector<std::size_t> order_of_turns(std::size_t n, std::uint64_t seed, std::int64_t round, std::int64_t what) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return random_bits(seed, round, what, i); });
  return order;
}

std::int64_t steps_per_visit(const RunOptions& options, double visit_seconds, double step_seconds) {
  if (options.steps) return (*options.steps + least_rounds - 1) / least_rounds;
  return static_cast<std::int64_t>(std::clamp(visit_seconds / step_seconds, 2.0, 200.0));
}

double seconds_of_visit(double left_seconds, std::int64_t rounds, std::size_t cases) {
  const auto visits =
      static_cast<double>(std::max<std::int64_t>(1, least_rounds - rounds)) * static_cast<double>(cases);
  return std::min(longest_visit_seconds, 0.5 * left_seconds / visits);
}

std::int64_t rounds_of_steps(std::int64_t steps) {
  const std::int64_t per_visit = (steps + least_rounds - 1) / least_rounds;
  return (steps + per_visit - 1) / per_visit;
}

std::int64_t steps_of_last_checks(const RunOptions& options, std::int64_t timed_batches, double seconds_of_one,
                                  double round_seconds) {
  constexpr double share_of_budget = 1.0 / 3.0;
  if ((options.steps && !options.budget) || seconds_of_one <= 0.0) return timed_batches;
  const double allowed = options.budget ? share_of_budget * options.budget->count() : round_seconds;
  const double held = std::min(allowed / seconds_of_one, static_cast<double>(timed_batches));
  return std::min(timed_batches, std::max(options.checked_steps, static_cast<std::int64_t>(held)));
}

double seconds_to_go(const RunOptions& options, std::int64_t rounds, double round_seconds, double left_seconds,
                     double seconds_of_last_checks) {
  const auto of = [&](std::int64_t all) {
    return static_cast<double>(std::max<std::int64_t>(0, all - rounds)) * round_seconds;
  };
  double of_rounds = options.steps ? of(rounds_of_steps(*options.steps)) : std::max(of(least_rounds), left_seconds);
  if (options.budget) of_rounds = options.steps ? std::min(of_rounds, left_seconds) : left_seconds;
  return seconds_of_last_checks + std::max(0.0, of_rounds);
}

std::vector<std::size_t> certainly_slower(const RunOptions& options, const std::vector<Standing>& cases) {
  std::vector<std::size_t> slower;
  const results::StepTime* best = best_of(cases);
  if (options.steps || best == nullptr) return slower;
  for (std::size_t c = 0; c < cases.size(); ++c) {
    if (cases[c].stopped || &cases[c].time == best) continue;
    const results::TimeRatio ratio = results::time_ratio(cases[c].time, *best, looks * comparisons(cases));
    if (ratio.rounds >= results::samples_for_interval && ratio.low > 1.0 + gap_of_interest) slower.push_back(c);
  }
  return slower;
}

bool is_done(const RunOptions& options, std::int64_t rounds, bool time_is_up, const std::vector<Standing>& cases) {
  if (time_is_up && options.budget) return true;
  if (options.steps)
    return std::ranges::all_of(cases, [&](const Standing& each) { return each.time.n >= *options.steps; });
  if (time_is_up && rounds >= least_rounds) return true;
  const results::StepTime* best = best_of(cases);
  return std::ranges::all_of(cases, [&](const Standing& each) {
    if (each.stopped) return true;
    if (!is_known(each.time)) return false;
    if (best == nullptr || best == &each.time) return true;
    const results::TimeRatio ratio = results::time_ratio(each.time, *best, comparisons(cases));
    return ratio.rounds >= results::rounds_for_interval(comparisons(cases)) &&
           ratio.relative_half_width() <= wanted_half_width;
  });
}

}  // namespace shardmark::workloads
