// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/schedule.hpp"

#include <algorithm>
#include <numeric>

#include "reference/counter_random.hpp"

namespace shardmark {
namespace {

constexpr double wanted_half_width = 0.025;
constexpr double gap_of_interest = 0.03;
constexpr double longest_visit_seconds = 0.25;

bool has_interval(const Standing& each) { return each.visits >= samples_for_interval; }

bool is_known(const Standing& each) {
  return has_interval(each) && each.high - each.low <= 2.0 * wanted_half_width * each.median;
}

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

Standing standing_of(const StepTime& time, bool right, bool stopped) {
  return {time.median, time.low, time.high, time.n, time.visit_count(), right, stopped};
}

std::vector<std::size_t> certainly_slower(const RunOptions& options, std::span<const Standing> cases) {
  std::vector<std::size_t> slower;
  if (options.steps) return slower;
  const Standing* best = nullptr;
  for (const Standing& each : cases)
    if (each.right && has_interval(each) && (!best || each.median < best->median)) best = &each;
  for (std::size_t c = 0; best && c < cases.size(); ++c)
    if (!cases[c].stopped && has_interval(cases[c]) && cases[c].low > (1.0 + gap_of_interest) * best->high)
      slower.push_back(c);
  return slower;
}

bool is_done(const RunOptions& options, std::int64_t rounds, bool time_is_up, std::span<const Standing> cases) {
  if (options.steps)
    return std::ranges::all_of(cases, [&](const Standing& each) { return each.steps >= *options.steps; });
  if (time_is_up && (options.budget || rounds >= least_rounds)) return true;
  return std::ranges::all_of(cases, [](const Standing& each) { return each.stopped || is_known(each); });
}

}  // namespace shardmark
