// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/search/step_seconds.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace shardmark::placement {
namespace {

constexpr std::array<Phase, exchange_phases> exchanged_phases{Phase::input_dist, Phase::output_dist, Phase::grad_dist};

bool never_falls(const MessageCost& cost) {
  return std::ranges::is_sorted(cost.points, {}, &MessageCost::Point::seconds);
}

bool sends_directly(std::string_view exchange) { return !shape_of(exchange).chooses && !shape_of(exchange).forwards; }

}  // namespace

double RankCosts::seconds() const { return std::accumulate(at.begin(), at.begin() + row_sums, 0.0); }

double RankCosts::squares() const { return std::inner_product(at.begin(), at.begin() + row_sums, at.begin(), 0.0); }

StepSeconds::StepSeconds(const StepContext& step, const MachineModel& machine)
    : step_(step), machine_(machine), layout_(step.layout()) {
  const ExchangeCost& cost = machine.exchange(step.exchange);
  const bool even = layout_.nodes() == 1 || layout_.ranks % layout_.per_node == 0;
  follows_from_busiest_ = sends_directly(step.exchange) && even && machine.switch_ranks == 0 &&
                          never_falls(cost.inside) && never_falls(cost.between);
  latency_ = latency_seconds(layout_, machine, step.exchange);
  at_home_ = at_home_seconds(step, machine);
  always_ = compute_seconds(machine, finished_counts(step, RankWork{}));
  always_[index_of(Phase::dense)] = dense_seconds(step, machine);
}

double StepSeconds::sending(double bytes) const {
  if (bytes < least_bytes || layout_.ranks <= 1) return 0.0;
  const double neighbours = std::min(layout_.per_node, layout_.ranks) - 1;
  const ExchangeCost& cost = machine_.exchange(step_.exchange);
  const double far = layout_.ranks - 1 - neighbours;
  const double of_group = bytes / groups();
  return groups() * ((neighbours > 0 ? neighbours * cost.inside.seconds(of_group) : 0.0) +
                     (far > 0 ? far * cost.between.seconds(of_group) : 0.0));
}

RankCosts StepSeconds::costs(const RankSums& sums) const {
  RankCosts costs;
  std::ranges::copy(compute_seconds(sums), costs.at.begin());
  for (std::size_t w = 0; w < exchange_phases; ++w)
    costs[RankCosts::sending + w] = sending(sums[RankSums::requested + w]);
  costs[RankCosts::row_sums] = sums[RankSums::row_sums];
  costs[RankCosts::memory] = sums[RankSums::memory];
  return costs;
}

bool StepSeconds::has_nodes() const { return machine_.node_bytes_per_second > 0.0 && layout_.nodes() > 1; }

double StepSeconds::exchange(double sending, std::span<const double> node_bytes) const {
  if (sending <= 0.0) return 0.0;
  if (!has_nodes()) return groups() * latency_ + sending;
  const double all = std::accumulate(node_bytes.begin(), node_bytes.end(), 0.0), own = layout_.per_node;
  const auto [least, most] = std::ranges::minmax(node_bytes);
  return groups() * latency_ + std::max(sending, std::max(most * (layout_.ranks - own), (all - least) * own) /
                                                     machine_.node_bytes_per_second);
}

double StepSeconds::exchange(std::span<const double> bytes) const {
  std::vector<double> of_group(bytes.begin(), bytes.end());
  for (double& of_rank : of_group) of_rank = of_rank < least_bytes ? 0.0 : of_rank / groups();
  return groups() * exchange_seconds(layout_, machine_, step_.exchange, of_group);
}

const std::array<double, phase_count>& StepSeconds::shared(const StepTotals& totals) const {
  if (totals != last_) {
    last_ = totals;
    of_last_ = shared_exchange_seconds(step_, machine_, totals);
  }
  return of_last_;
}

double StepSeconds::step(const RankCosts& most, const std::array<double, exchange_phases>& exchanges,
                         const StepTotals& totals) const {
  std::array<double, phase_count> computing = always_, travelling = shared(totals);
  for (std::size_t p = 0; p < phase_count; ++p) computing[p] += most[RankCosts::computing + p];
  for (std::size_t w = 0; w < exchange_phases; ++w)
    travelling[index_of(exchanged_phases[w])] += w > 0 && step_.at_home ? at_home_ : exchanges[w];
  travelling[index_of(Phase::update)] += row_sum_seconds(step_, machine_, most[RankCosts::row_sums]);
  return step_path(step_, machine_, computing, travelling).seconds;
}

}  // namespace shardmark::placement
