// SPDX-License-Identifier: Apache-2.0
#include "results/modes.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "results/statistics.hpp"

namespace shardmark::results {
namespace {

constexpr std::size_t fewest_times = 20, fewest_of_a_mode = 5;
constexpr double least_share = 0.1, least_distance = 0.14, spreads_apart = 4.0, most_between = 0.1;

/// Returns where to cut: the number of values on the lower side.
std::size_t best_cut(std::span<const double> sorted, std::size_t least) {
  double total = 0.0;
  for (const double x : sorted) total += x;
  double below = 0.0, most = -1.0;
  std::size_t best = 0;
  for (std::size_t n = 1; n < sorted.size(); ++n) {
    below += sorted[n - 1];
    if (n < least || sorted.size() - n < least) continue;
    const auto lower = static_cast<double>(n), upper = static_cast<double>(sorted.size() - n);
    const double distance = (total - below) / upper - below / lower;
    if (const double between = lower * upper * distance * distance; between > most) {
      most = between;
      best = n;
    }
  }
  return best;
}

/// Half the distance that the middle two thirds span: a standard deviation of normally distributed values.
double spread(std::span<const double> sorted) {
  const auto last = static_cast<double>(sorted.size() - 1);
  const auto at = [&](double share) { return sorted[static_cast<std::size_t>(share * last + 0.5)]; };
  return (at(0.84) - at(0.16)) / 2.0;
}

}  // namespace

std::optional<Modes> two_modes(std::span<const double> times_ms) {
  if (times_ms.size() < fewest_times || std::ranges::any_of(times_ms, [](double t) { return !(t > 0.0); }))
    return std::nullopt;
  std::vector<double> logs;
  for (const double time : times_ms) logs.push_back(std::log(time));
  std::ranges::sort(logs);
  const auto tenth = static_cast<std::size_t>(std::ceil(least_share * static_cast<double>(logs.size())));
  const std::size_t least = std::max(fewest_of_a_mode, tenth);
  const std::size_t cut = best_cut(logs, least);
  const std::span<const double> lower = std::span(logs).first(cut), upper = std::span(logs).subspan(cut);
  const double fast = summarize(lower).median, slow = summarize(upper).median, distance = slow - fast;
  if (distance < std::max(least_distance, spreads_apart * std::max(spread(lower), spread(upper)))) return std::nullopt;
  const auto between =
      std::ranges::count_if(logs, [&](double x) { return x > fast + distance / 3.0 && x < slow - distance / 3.0; });
  if (static_cast<double>(between) > most_between * static_cast<double>(std::min(lower.size(), upper.size())))
    return std::nullopt;
  return Modes{std::exp(fast), std::exp(slow), static_cast<double>(upper.size()) / static_cast<double>(logs.size())};
}

nlohmann::ordered_json to_json(const Modes& modes) {
  return {{"fast_ms", modes.fast_ms}, {"slow_ms", modes.slow_ms}, {"slow_share", modes.slow_share}};
}

std::optional<Modes> modes_of(const nlohmann::ordered_json& details) {
  const auto found = details.find(modes_field);
  if (found == details.end() || !found->is_object()) return std::nullopt;
  Modes modes;
  for (const auto& [name, to] : {std::pair("fast_ms", &modes.fast_ms), std::pair("slow_ms", &modes.slow_ms),
                                 std::pair("slow_share", &modes.slow_share)}) {
    const auto value = found->find(name);
    if (value == found->end() || !value->is_number()) return std::nullopt;
    *to = value->get<double>();
  }
  return modes;
}

}  // namespace shardmark::results
