// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/search/step_seconds.hpp"

#include <algorithm>
#include <functional>
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

RankCosts& RankCosts::operator+=(const RankCosts& other) {
  std::ranges::transform(at, other.at, at.begin(), std::plus<>());
  return *this;
}

RankCosts& RankCosts::operator-=(const RankCosts& other) {
  std::ranges::transform(at, other.at, at.begin(), std::minus<>());
  return *this;
}

double RankCosts::seconds() const {
  const double to_all = std::accumulate(at.begin(), at.begin() + row_sums, 0.0);
  return std::accumulate(at.begin() + in_node, at.end(), to_all);
}

double RankCosts::squares() const {
  const double to_all = std::inner_product(at.begin(), at.begin() + row_sums, at.begin(), 0.0);
  return std::inner_product(at.begin() + in_node, at.end(), at.begin() + in_node, to_all);
}

StepSeconds::StepSeconds(const StepContext& step, const MachineModel& machine)
    : step_(step),
      machine_(machine),
      layout_(step.layout()),
      messages_(messages_of(step.exchange, layout_)),
      cost_(machine.exchange(step.exchange)) {
  const bool even = layout_.nodes() == 1 || layout_.ranks % layout_.per_node == 0;
  const bool knows_slowing = (!machine.alone.of_messages() && !machine.limit.limits()) || layout_.nodes() == 1;
  follows_from_busiest_ = sends_directly(step.exchange) && even && machine.switch_ranks == 0 && knows_slowing &&
                          never_falls(cost_.inside) && never_falls(cost_.between);
  latency_ = latency_seconds(layout_, machine, step.exchange);
  node_latency_ = latency_seconds({layout_.on_node(0), layout_.per_node}, machine, step.exchange);
  rail_latency_ = latency_seconds({layout_.nodes(), 1}, machine, step.exchange);
  at_home_ = at_home_seconds(step, machine);
  always_ = compute_seconds(machine, finished_counts(step, RankWork{}));
  always_[index_of(Phase::dense)] = dense_seconds(step, machine);
}

double StepSeconds::inside(double bytes) const { return seconds_in_parts(cost_.inside, messages_.inside_size, bytes); }

double StepSeconds::between(double bytes) const {
  return seconds_in_parts(cost_.between, messages_.between_size, bytes);
}

double StepSeconds::sending(double bytes) const {
  if (bytes < least_bytes || layout_.ranks <= 1) return 0.0;
  const double neighbours = std::min(layout_.per_node, layout_.ranks) - 1;
  const double far = layout_.ranks - 1 - neighbours;
  return groups() * ((neighbours > 0 ? neighbours * inside(bytes / groups()) : 0.0) +
                     (far > 0 ? far * between(bytes / groups()) : 0.0));
}

double StepSeconds::alone_share(double bytes) const {
  return share_at(machine_.alone.inside, messages_.inside_size * bytes / groups());
}

double StepSeconds::sending_in_node(double bytes) const {
  if (bytes < least_bytes || layout_.on_node(0) <= 1) return 0.0;
  return groups() * (layout_.on_node(0) - 1) * inside(bytes / groups());
}

/// Every rank of a rail has a node of its own, whose link it has alone as far as the rail is concerned.
double StepSeconds::sending_on_rail(double bytes) const {
  if (bytes < least_bytes || layout_.nodes() <= 1) return 0.0;
  const double others = layout_.nodes() - 1;
  const double link = has_nodes() ? bytes / machine_.node_bytes_per_second : 0.0;
  return others * std::max(groups() * between(bytes / groups()), link);
}

RankCosts StepSeconds::costs(const RankSums& sums) const {
  RankCosts costs;
  std::ranges::copy(compute_seconds(sums), costs.at.begin());
  costs[RankCosts::computing + index_of(Phase::input_dist)] +=
      sort_digits(step_, sums[RankSums::sorted_keys]) * at(machine_.seconds, Term::sort_digit);
  for (std::size_t w = 0; w < exchange_phases; ++w) {
    const double bytes = sums[RankSums::exchanged + w], full = sending(bytes);
    costs[RankCosts::sending + w] = full * alone_share(bytes);
    costs[RankCosts::slowed + w] = full - costs[RankCosts::sending + w];
    costs[RankCosts::in_node + w] = sending_in_node(sums[RankSums::in_node + w]);
    costs[RankCosts::on_rail + w] = sending_on_rail(sums[RankSums::on_rail + w]);
  }
  costs[RankCosts::row_sums] = sums[RankSums::row_sums];
  costs[RankCosts::memory] = sums[RankSums::memory];
  return costs;
}

bool StepSeconds::has_nodes() const { return machine_.node_bytes_per_second > 0.0 && layout_.nodes() > 1; }

double StepSeconds::exchange(std::size_t w, const RankCosts& most, const RankCosts& all,
                             std::span<const double> node_bytes, std::span<const double> rail_bytes) const {
  const double sending = most[RankCosts::sending + w], in_node = most[RankCosts::in_node + w],
               on_rail = most[RankCosts::on_rail + w];
  double seconds = 0.0;
  if (sending > 0.0) {
    const std::size_t slowed = RankCosts::slowed + w;
    double links = sending + (all[slowed] - most[slowed]) / std::max(1, layout_.ranks - 1);
    if (has_nodes()) {
      const double bytes = std::accumulate(node_bytes.begin(), node_bytes.end(), 0.0), own = layout_.per_node;
      const auto [least, busiest] = std::ranges::minmax(node_bytes);
      links = std::max(
          links, std::max(busiest * (layout_.ranks - own), (bytes - least) * own) / machine_.node_bytes_per_second);
    }
    seconds += groups() * latency_ + links;
  }
  if (in_node > 0.0) seconds += groups() * node_latency_ + in_node;
  if (on_rail > 0.0) {
    const double rails = groups() * rail_latency_ + on_rail;
    seconds +=
        !has_nodes()
            ? rails
            : std::max(rails, std::ranges::max(rail_bytes) * (layout_.nodes() - 1) / machine_.node_bytes_per_second);
  }
  return seconds;
}

ExchangeTime StepSeconds::exchange(RankBytes bytes) const {
  for (auto* of_kind : {&bytes.all, &bytes.node, &bytes.rail})
    for (double& of_rank : *of_kind) of_rank = of_rank < least_bytes ? 0.0 : of_rank;
  return phase_exchange_time(step_, machine_, std::move(bytes));
}

const std::array<ExchangeTime, phase_count>& StepSeconds::shared(const StepTotals& totals) const {
  if (totals != last_) {
    last_ = totals;
    of_last_ = shared_exchange_times(step_, machine_, totals);
  }
  return of_last_;
}

double StepSeconds::step(const RankCosts& most, const std::array<ExchangeTime, exchange_phases>& exchanges,
                         const StepTotals& totals) const {
  std::array<double, phase_count> computing = always_;
  std::array<ExchangeTime, phase_count> travelling = shared(totals);
  for (std::size_t p = 0; p < phase_count; ++p) computing[p] += most[RankCosts::computing + p];
  for (std::size_t w = 0; w < exchange_phases; ++w)
    travelling[index_of(exchanged_phases[w])] += w > 0 && step_.at_home ? ExchangeTime{at_home_} : exchanges[w];
  travelling[index_of(Phase::update)] += row_sum_time(step_, machine_, most[RankCosts::row_sums]);
  return step_path(step_, machine_, computing, travelling).seconds;
}

}  // namespace shardmark::placement
