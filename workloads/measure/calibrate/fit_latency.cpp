// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/calibrate/fit_latency.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "comm/placement/cost/exchange_time.hpp"
#include "workloads/measure/calibrate/non_negative_least_squares.hpp"

namespace shardmark::workloads {
namespace {

enum Part : std::size_t { messages_part, rounds_part, calls_part, part_count };
using Parts = std::array<double, part_count>;
using KeptParts = std::vector<Part>;

constexpr double least_t = 2.0;       // of a part, beside its standard error
constexpr double least_error = 1e-4;  // to which a time is known at best

Parts counts_of(const Level& level, const placement::MessagesOfRank& messages) {
  return {messages.*level.messages, messages.*level.rounds, messages.calls};
}

struct LatencyFit {
  Parts seconds{};
  double squares = 0.0, error = 0.0;
};

LatencyFit fit_of(const MeasuredLevel& measured, const KeptParts& kept) {
  std::vector<std::vector<double>> rows;
  for (const SmallExchange& each : measured.small) {
    const Parts counts = counts_of(*measured.level, each.messages);
    auto& row = rows.emplace_back();
    for (const Part part : kept) row.push_back(counts[part] / each.seconds);
  }
  const std::vector<double> ones(rows.size(), 1.0);
  const auto found = non_negative_least_squares(rows, ones);
  LatencyFit fit;
  for (std::size_t k = 0; k < kept.size(); ++k) fit.seconds[kept[k]] = found[k];
  for (const auto& row : rows) {
    const double off = std::inner_product(row.begin(), row.end(), found.begin(), -1.0);
    fit.squares += off * off;
    fit.error += std::abs(off) / static_cast<double>(rows.size());
  }
  return fit;
}

/// Leaves out, one by one, the part without which the fit is as good, as it is where the numbers of the part follow
/// from those of others: t^2 = (squares without / with - 1) x (measured - parts) < 4. What messages cannot tell is
/// theirs.
void leave_out(const MeasuredLevel& measured, KeptParts& kept) {
  while (kept.size() > 1) {
    const auto rows = static_cast<double>(measured.small.size()), parts = static_cast<double>(kept.size());
    const double with = std::max(fit_of(measured, kept).squares, rows * least_error * least_error);
    const double freedom = std::max(1.0, rows - parts);
    double least = std::numeric_limits<double>::infinity();
    KeptParts best;
    for (const Part part : kept) {
      if (part == messages_part) continue;
      KeptParts others = kept;
      std::erase(others, part);
      const double more = (fit_of(measured, others).squares - with) * freedom;
      if (more >= least) continue;
      least = more;
      best = others;
    }
    if (least >= least_t * least_t * with) return;
    kept = best;
  }
}

LevelLatency latency_of(const MeasuredLevel& measured) {
  KeptParts kept{messages_part, rounds_part, calls_part};
  leave_out(measured, kept);
  const LatencyFit fit = fit_of(measured, kept);
  const auto known = [&](Part part) {
    return std::ranges::count(kept, part) > 0 ? std::optional(fit.seconds[part]) : std::nullopt;
  };
  return {measured.level, measured.ranks, known(calls_part), known(rounds_part), fit.seconds[messages_part], fit.error};
}

/// Holds the time of an exchange with small messages on one level, and that of its shape by the fit: of its calls, and
/// of its rounds and messages.
struct SmallTime {
  const LevelLatency* of = nullptr;
  placement::MessagesOfRank messages;
  double seconds = 0.0, calls = 0.0, others = 0.0;

  double fitted() const { return calls + others; }
  /// Returns the seconds of one of its calls.
  double call() const { return seconds * calls / fitted() / messages.calls; }
};

SmallTime small_time(const LevelLatency& of, const placement::MessagesOfRank& messages, double seconds) {
  const Parts counts = counts_of(*of.level, messages);
  return {&of, messages, seconds, counts[calls_part] * of.call.value_or(0.0),
          counts[rounds_part] * of.round.value_or(0.0) + counts[messages_part] * of.message};
}

/// Returns the one call of an exchange: the least of the levels that tell it.
double least_call(std::span<const SmallTime> times) {
  double least = std::numeric_limits<double>::infinity();
  for (const SmallTime& time : times)
    if (time.of->call) least = std::min(least, time.call());
  return std::isfinite(least) ? least : 0.0;
}

void subtract(placement::MessageCost& cost, double seconds) {
  for (auto& point : cost.points) point.seconds = std::max(0.0, point.seconds - seconds);
}

void share_of_exchange(std::string_view name, std::span<const LevelLatency> levels, placement::ExchangeCost& cost) {
  std::vector<SmallTime> times;
  for (const LevelLatency& of : levels) {
    const Level& level = *of.level;
    const auto& points = (cost.*level.exchange).points;
    if (points.empty() || (placement::shape_of(name).by_loads && level.within())) continue;
    const placement::MessagesOfRank messages = placement::messages_of(name, level.layout(of.ranks));
    const double count = messages.*level.messages;
    const SmallTime time = small_time(of, messages, count * points.front().seconds);
    if (count > 0.0 && time.fitted() > 0.0) times.push_back(time);
  }
  cost.call = placement::shape_of(name).by_loads ? 0.0 : least_call(times);
  for (const SmallTime& time : times) {
    const Level& level = *time.of->level;
    const double calls = time.of->call ? time.messages.calls * cost.call : 0.0, left = time.seconds - calls;
    cost.*level.round = time.others > 0.0 ? left * time.of->round.value_or(0.0) / time.others : 0.0;
    subtract(cost.*level.exchange,
             (calls + time.messages.*level.rounds * (cost.*level.round)) / (time.messages.*level.messages));
  }
}

/// Takes the call out of the steps of all-reduces, of which the smallest is by a tree and others by a ring.
void share_of_all_reduce(std::span<const LevelLatency> levels, placement::MachineModel& machine) {
  std::vector<SmallTime> times;
  for (const LevelLatency& of : levels) {
    const auto& points = (machine.*of.level->all_reduce).points;
    placement::MessagesOfRank steps;
    steps.*of.level->messages = steps.*of.level->rounds = 2 * std::ceil(std::log2(of.ranks));
    if (points.empty()) continue;
    const SmallTime time = small_time(of, steps, steps.*of.level->messages * points.front().seconds);
    if (time.fitted() > 0.0) times.push_back(time);
  }
  machine.all_reduce_call = least_call(times);
  for (const SmallTime& time : times) {
    if (!time.of->call) continue;
    auto& points = (machine.*time.of->level->all_reduce).points;
    const double of_tree = machine.all_reduce_call / (time.messages.*time.of->level->messages);
    const double of_ring = machine.all_reduce_call / (2 * (time.of->ranks - 1));
    points.front().seconds = std::max(0.0, points.front().seconds - of_tree);
    for (auto& point : std::span(points).subspan(1))
      point.seconds = std::max(points.front().seconds, point.seconds - of_ring);
  }
}

}  // namespace

std::vector<LevelLatency> fit_latencies(std::span<const MeasuredLevel> levels) {
  std::vector<LevelLatency> fitted;
  for (const MeasuredLevel& measured : levels) fitted.push_back(latency_of(measured));
  return fitted;
}

void share_latencies(std::span<const LevelLatency> levels, placement::MachineModel& machine) {
  for (auto& [name, cost] : machine.exchanges) share_of_exchange(name, levels, cost);
  share_of_all_reduce(levels, machine);
}

void even_out_large(placement::MessageCost& cost, double from) {
  const auto first = std::ranges::lower_bound(cost.points, from, {}, &placement::MessageCost::Point::bytes);
  double least = std::numeric_limits<double>::infinity();
  for (const auto& point : std::ranges::subrange(first, cost.points.end()))
    least = std::min(least, point.seconds / point.bytes);
  for (auto& point : std::ranges::subrange(first, cost.points.end())) point.seconds = point.bytes * least;
}

placement::LinkLimit limit_of(std::span<const placement::MessageCost::Point> sent) {
  if (sent.size() < 3) return {};
  const auto &last = sent.back(), &before = sent[sent.size() - 2];
  if (last.seconds <= before.seconds) return {};
  placement::LinkLimit limit{(last.bytes - before.bytes) / (last.seconds - before.seconds)};
  for (const auto& [bytes, seconds] : sent)
    limit.burst = std::max(limit.burst, bytes - limit.bytes_per_second * seconds);
  return limit.burst_seconds() >= least_burst_seconds ? limit : placement::LinkLimit{};
}

}  // namespace shardmark::workloads
