// SPDX-License-Identifier: Apache-2.0
#include "results/time_ratio.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "results/shift.hpp"
#include "results/statistics.hpp"

namespace shardmark::results {
namespace {

constexpr double error_in_all = 0.05;
constexpr std::size_t most_blocks = 100;

double least_error(std::int64_t rounds) { return std::exp2(1.0 - static_cast<double>(rounds)); }

/// Logarithms of the ratios of the rounds in which both were visited.
std::vector<double> log_ratios(const StepTime& slow, const StepTime& fast) {
  if (slow.visits.empty() || fast.visits.empty()) return {};
  const auto over = medians_of_visits(slow.samples, slow.visits), under = medians_of_visits(fast.samples, fast.visits);
  std::vector<double> logs;
  for (std::size_t i = 0; i < std::min(over.size(), under.size()); ++i)
    if (over[i] > 0.0 && under[i] > 0.0) logs.push_back(std::log(over[i] / under[i]));
  return logs;
}

/// Medians of blocks of consecutive values, at most most_blocks of them.
std::vector<double> in_blocks(const std::vector<double>& values) {
  const std::size_t length = (values.size() + most_blocks - 1) / most_blocks;
  if (length <= 1) return values;
  std::vector<double> medians;
  for (std::size_t begin = 0; begin + length <= values.size(); begin += length)
    medians.push_back(summarize(std::span(values).subspan(begin, length)).median);
  return medians;
}

TimeRatio ratio_of_medians(const StepTime& slow, const StepTime& fast) {
  return {slow.median / fast.median, slow.low / fast.high, slow.high / fast.low, 0};
}

TimeRatio scaled(TimeRatio r, double by) { return {r.ratio * by, r.low * by, r.high * by, r.rounds}; }

}  // namespace

double TimeRatio::relative_half_width() const {
  if (rounds < samples_for_interval) return std::numeric_limits<double>::infinity();
  return std::log(high / low) / 2.0;
}

std::int64_t rounds_for_interval(std::int64_t comparisons) {
  std::int64_t rounds = samples_for_interval;
  while (static_cast<double>(comparisons) * least_error(rounds) > error_in_all) ++rounds;
  return rounds;
}

TimeRatio time_ratio(const StepTime& slow, const StepTime& fast, std::int64_t comparisons) {
  const auto logs = log_ratios(slow, fast);
  if (logs.empty()) return ratio_of_medians(slow, fast);
  const double wanted = error_in_all / static_cast<double>(std::max<std::int64_t>(1, comparisons));
  Shift shift = paired_shift(in_blocks(logs), wanted);
  if (std::ssize(logs) < rounds_for_interval(comparisons) && logs.size() > 1) {
    const auto n = static_cast<double>(logs.size());
    const double mean = std::reduce(logs.begin(), logs.end()) / n;
    double squares = 0.0;
    for (const double x : logs) squares += (x - mean) * (x - mean);
    const double reach = student_quantile(std::ssize(logs) - 1, wanted) * std::sqrt(squares / (n - 1.0) / n);
    shift.low = std::min(shift.estimate, mean - reach);
    shift.high = std::max(shift.estimate, mean + reach);
  }
  return {std::exp(shift.estimate), std::exp(shift.low), std::exp(shift.high), std::ssize(logs)};
}

bool same_job(const CaseRecord& a, const CaseRecord& b) {
  const auto part = [](const CaseRecord& record) { return record.details.value(part_field, nlohmann::ordered_json()); };
  return part(a) == part(b);
}

TimeRatio time_ratio(const CaseRecord& slow, const CaseRecord& fast, std::int64_t comparisons) {
  const TimeRatio of_steps = same_job(slow, fast) ? time_ratio(slow.step_ms, fast.step_ms, comparisons)
                                                  : ratio_of_medians(slow.step_ms, fast.step_ms);
  return scaled(of_steps, static_cast<double>(fast.global_batch()) / static_cast<double>(slow.global_batch()));
}

/// With t = sqrt(degrees) tan(a) the density of a is proportional to cos(a)^(degrees - 1): a is counted down from pi /
/// 2 until the tail holds the error's share.
double student_quantile(std::int64_t degrees, double error) {
  constexpr int steps = 2000;
  constexpr double width = std::numbers::pi / 2.0 / steps;
  const auto density = [&](int step) {
    return std::pow(std::sin((step + 0.5) * width), static_cast<double>(degrees - 1));
  };
  double whole = 0.0;
  for (int step = 0; step < steps; ++step) whole += density(step);
  double tail = 0.0;
  int step = 0;
  while (step < steps && tail + density(step) < error * whole) tail += density(step++);
  const double part = step < steps ? (error * whole - tail) / density(step) : 0.0;
  return std::sqrt(static_cast<double>(degrees)) / std::tan((step + part) * width);
}

double smallest_shown(const TimeRatio& twins) { return std::exp(2.0 * twins.relative_half_width()); }

}  // namespace shardmark::results
