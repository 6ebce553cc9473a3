// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/schedule.hpp"

#include <algorithm>
#include <numeric>

#include "reference/counter_random.hpp"
#include "results/statistics.hpp"

namespace shardmark {
namespace {

constexpr double wanted_half_width = 0.025;
constexpr double seconds_per_visit = 0.25;
constexpr std::int64_t least_rounds = 3;

}  // namespace

std::vector<std::size_t> order_of_turns(std::size_t n, std::uint64_t seed, std::int64_t round, std::int64_t what) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return random_bits(seed, round, what, i); });
  return order;
}

std::int64_t steps_per_visit(const RunOptions& options, double step_seconds) {
  if (options.steps) return (*options.steps + least_rounds - 1) / least_rounds;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(seconds_per_visit / step_seconds), 2, 200);
}

bool is_done(const RunOptions& options, std::int64_t rounds, double spent_seconds,
             std::span<const std::vector<double>* const> step_ms) {
  if (options.steps)
    return std::ranges::all_of(step_ms, [&](const auto* samples) { return std::ssize(*samples) >= *options.steps; });
  if (rounds < least_rounds) return false;
  if (spent_seconds >= options.seconds * static_cast<double>(step_ms.size())) return true;
  return std::ranges::all_of(
      step_ms, [](const auto* samples) { return summarize(*samples).relative_half_width() <= wanted_half_width; });
}

}  // namespace shardmark
