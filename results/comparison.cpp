// SPDX-License-Identifier: Apache-2.0
#include "results/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "reference/error.hpp"
#include "results/permutation_test.hpp"
#include "results/statistics.hpp"

namespace shardmark::results {
namespace {

using Launches = std::span<const Launch>;

/// Holds what is known of a case before it is judged: logarithms of milliseconds, one per launch.
struct Evidence {
  std::vector<double> old_logs, new_logs;
  Shift shift = {};
  std::optional<double> floor = {};
  double p = 1.0;
};

std::vector<double> differences(const Evidence& evidence) {
  std::vector<double> d;
  for (std::size_t i = 0; i < evidence.old_logs.size(); ++i) d.push_back(evidence.new_logs[i] - evidence.old_logs[i]);
  return d;
}

std::vector<double> log_times(Launches launches, std::string_view name) {
  std::vector<double> logs;
  for (const Launch& launch : launches)
    if (const LaunchedCase* found = launch.find(name); found && found->error.empty())
      logs.push_back(std::log(found->median_ms));
  return logs;
}

/// Returns why these launches have no full set of times of the case; empty when they have.
std::string gap(Launches launches, std::string_view side, std::string_view name, bool& failed) {
  for (const Launch& launch : launches) {
    const LaunchedCase* found = launch.find(name);
    if (found && found->error.empty()) continue;
    failed = found != nullptr;
    return failed ? fmt::format("{} ({}): {}", side, launch.file, found->error)
                  : fmt::format("not in {} ({}); run it there", side, launch.file);
  }
  return "";
}

/// Returns a text such as "OLD (old.jsonl) was disturbed by other processes; measure it again"; empty where no launch
/// was.
std::string disturbance(Launches launches, std::string_view side, std::string_view name) {
  for (const Launch& launch : launches)
    if (const LaunchedCase* found = launch.find(name); found && found->disturbed)
      return fmt::format("{} ({}) was disturbed by other processes; measure it again", side, launch.file);
  return "";
}

/// Returns the case as missing, or as worse when only NEW fails; nothing when both sides have all times.
std::optional<CaseComparison> without_times(const std::string& name, Launches old_launches, Launches new_launches) {
  bool old_failed = false, new_failed = false;
  const std::string old_gap = gap(old_launches, "OLD", name, old_failed);
  const std::string new_gap = gap(new_launches, "NEW", name, new_failed);
  if (old_gap.empty() && new_gap.empty()) return std::nullopt;
  CaseComparison result{.name = name, .advice = old_gap.empty() ? new_gap : old_gap};
  result.fails = old_gap.empty() && new_failed;
  if (result.fails) result.change = Change::worse;
  return result;
}

/// Returns the number of launches of each side with which the interval would no longer reach across the smallest
/// effect, and the noise floor of pairs would lie below the ratio: both fall as 1 / sqrt(n). It is at most ten times as
/// many as there were.
std::int64_t launches_to_settle(const Evidence& evidence, double smallest) {
  const auto n = static_cast<double>(std::min(evidence.old_logs.size(), evidence.new_logs.size()));
  const double size = std::fabs(evidence.shift.estimate);
  const double half_width = (evidence.shift.high - evidence.shift.low) / 2.0;
  double excess = half_width / std::max(std::fabs(size - smallest), 1e-9);
  if (size > smallest) excess = std::max(excess, evidence.floor.value_or(0.0) / size);
  return static_cast<std::int64_t>(std::ceil(std::clamp(n * excess * excess, n + 2.0, 10.0 * n)));
}

std::string advice_for(const Evidence& evidence, bool enough, double smallest, bool paired) {
  if (!enough) return fmt::format("too few launches; run at least {} of each", paired ? fewest_pairs : fewest_unpaired);
  if (!paired && evidence.floor.value_or(0.0) > smallest)
    return "the noise floor hides the smallest effect; run OLD and NEW in turns (--paired)";
  return fmt::format("run {} launches of each", launches_to_settle(evidence, smallest));
}

CaseComparison judged(const std::string& name, const Evidence& evidence, const ComparisonOptions& options) {
  const double smallest = std::log1p(options.min_effect);
  const double margin = std::max(smallest, evidence.floor.value_or(0.0));
  const Shift& shift = evidence.shift;
  CaseComparison result{.name = name,
                        .old_ms = std::exp(summarize(evidence.old_logs).median),
                        .new_ms = std::exp(summarize(evidence.new_logs).median),
                        .ratio = std::exp(shift.estimate),
                        .low = std::exp(shift.low),
                        .high = std::exp(shift.high),
                        .p = evidence.p,
                        .change = Change::unclear};
  if (evidence.floor) result.floor = std::expm1(*evidence.floor);
  const bool enough = enough_launches(std::ssize(evidence.old_logs), std::ssize(evidence.new_logs), options.paired);
  if (enough && evidence.p <= options.alpha && std::fabs(shift.estimate) > margin)
    result.change = shift.estimate > 0.0 ? Change::worse : Change::better;
  else if (enough && shift.low >= -smallest && shift.high <= smallest)
    result.change = Change::same;
  else
    result.advice = advice_for(evidence, enough, smallest, options.paired);
  result.fails = options.fail_above && result.ratio > 1.0 + *options.fail_above && (!enough || shift.low > 0.0);
  return result;
}

/// p-values of all cases together, since they are adjusted for one another.
void add_p_values(std::vector<Evidence>& evidence, bool paired) {
  std::vector<std::vector<double>> values;
  for (const Evidence& each : evidence) {
    values.push_back(paired ? differences(each) : each.old_logs);
    if (!paired) values.back().insert(values.back().end(), each.new_logs.begin(), each.new_logs.end());
  }
  if (values.empty()) return;
  const auto p = paired ? paired_p_values(values) : unpaired_p_values(values, std::ssize(evidence[0].old_logs));
  for (std::size_t c = 0; c < evidence.size(); ++c) evidence[c].p = p[c];
}

std::vector<std::string> names_of(Launches old_launches, Launches new_launches) {
  std::vector<std::string> names;
  for (const Launches side : {old_launches, new_launches})
    for (const Launch& launch : side)
      for (const LaunchedCase& each : launch.cases)
        if (std::ranges::find(names, each.name) == names.end()) names.push_back(each.name);
  return names;
}

}  // namespace

std::optional<double> noise_floor(std::span<const double> log_times, bool paired, std::int64_t pairs) {
  if (log_times.size() < 3) return std::nullopt;
  std::vector<double> distances;
  for (std::size_t i = 0; i + 1 < log_times.size(); ++i)
    for (std::size_t j = i + 1; j < (paired ? i + 2 : log_times.size()); ++j)
      distances.push_back(std::fabs(log_times[j] - log_times[i]));
  const double spread = 1.4826 * summarize(distances).median;
  return paired ? 2.0 * spread / std::sqrt(static_cast<double>(pairs)) : 2.0 * spread;
}

std::vector<BaselineFloor> baseline_floors(Launches launches) {
  std::vector<BaselineFloor> floors;
  for (const std::string& name : names_of(launches, {})) {
    const auto logs = log_times(launches, name);
    const auto unpaired = noise_floor(logs, false, std::ssize(logs)),
               paired = noise_floor(logs, true, std::ssize(logs));
    if (unpaired && paired) floors.push_back({name, std::expm1(*unpaired), std::expm1(*paired)});
  }
  std::ranges::stable_sort(floors, std::greater(), [](const BaselineFloor& each) { return *each.unpaired; });
  return floors;
}

bool enough_launches(std::int64_t old_launches, std::int64_t new_launches, bool paired) {
  return std::min(old_launches, new_launches) >= (paired ? fewest_pairs : fewest_unpaired);
}

std::vector<CaseComparison> compare(Launches old_launches, Launches new_launches, Launches aa_launches,
                                    const ComparisonOptions& options) {
  if (options.paired && old_launches.size() != new_launches.size())
    throw InputError(fmt::format("--paired with {} launches of OLD and {} of NEW; name as many of each",
                                 old_launches.size(), new_launches.size()));
  const Launches noise = aa_launches.empty() ? old_launches : aa_launches;
  std::vector<CaseComparison> results;
  std::vector<Evidence> evidence;
  std::vector<std::size_t> place;  // of each evidence in results
  for (const std::string& name : names_of(old_launches, new_launches)) {
    results.push_back(without_times(name, old_launches, new_launches).value_or(CaseComparison{.name = name}));
    if (results.back().change != Change::missing || !results.back().advice.empty()) continue;
    Evidence each{.old_logs = log_times(old_launches, name), .new_logs = log_times(new_launches, name)};
    each.shift = options.paired ? paired_shift(differences(each)) : unpaired_shift(each.old_logs, each.new_logs);
    each.floor = noise_floor(log_times(noise, name), options.paired, std::ssize(old_launches));
    evidence.push_back(std::move(each));
    place.push_back(results.size() - 1);
  }
  add_p_values(evidence, options.paired);
  for (std::size_t i = 0; i < place.size(); ++i) {
    CaseComparison& result = results[place[i]];
    result = judged(result.name, evidence[i], options);
    std::string disturbed = disturbance(old_launches, "OLD", result.name);
    if (disturbed.empty()) disturbed = disturbance(new_launches, "NEW", result.name);
    if (disturbed.empty()) continue;
    result.change = Change::unclear;
    result.advice = std::move(disturbed);
  }
  return results;
}

}  // namespace shardmark::results
