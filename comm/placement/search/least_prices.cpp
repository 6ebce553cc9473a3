// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/search/least_prices.hpp"

#include <algorithm>
#include <limits>

namespace shardmark::placement {
namespace {

constexpr double large = 1e15;  ///< bytes

/// Returns the least of (seconds - start) / bytes over all sizes: a piecewise linear function has it at its corners, or
/// at infinity.
double least_slope(const MessageCost& cost, double start) {
  double least = (cost.seconds(large) - start) / large;
  for (const auto& [bytes, seconds] : cost.points)
    if (bytes > 0.0) least = std::min(least, (seconds - start) / bytes);
  return std::max(least, 0.0);
}

double least_seconds(const MessageCost& cost) {
  if (cost.points.empty()) return 0.0;
  return std::ranges::min_element(cost.points, {}, &MessageCost::Point::seconds)->seconds;
}

/// Returns the cost of the exchange as if each message were the only one.
ExchangeCost least_cost(const StepContext& step, const MachineModel& machine) {
  ExchangeCost cost = machine.exchange(step.exchange);
  for (auto& point : cost.inside.points) point.seconds *= least_share(machine.alone.inside);
  for (auto& point : cost.between.points) point.seconds *= least_share(machine.alone.between);
  return cost;
}

/// Adds up the messages of a rank, inside its node and between nodes, on the node where they are cheapest.
template <class Price>
double of_rank(const StepContext& step, const Price& inside, const Price& between) {
  const RankLayout layout = step.layout();
  double least = std::numeric_limits<double>::infinity();
  for (const int node : {0, layout.nodes() - 1}) {
    const int own = layout.on_node(node);
    least = std::min(least, (own - 1) * inside + (layout.ranks - own) * between);
  }
  return least;
}

/// The first message of each rank to another, inside its node and between nodes.
struct FirstMessages {
  double inside = 0.0, between = 0.0;
};

/// Adds what is exchanged inside nodes and along rails, where all of that is sent directly.
void add_groups(ExchangePrice& price, const StepContext& step, const MachineModel& machine,
                const FirstMessages& first) {
  const RankLayout layout = step.layout();
  if (layout.nodes() > 1 && layout.ranks % layout.per_node != 0) return;
  const ExchangeCost cost = least_cost(step, machine);
  const RankLayout node{layout.on_node(0), layout.per_node}, rail{layout.nodes(), 1};
  const double in_node = node.ranks - 1, on_rail = rail.ranks - 1;
  price.start_in_node = latency_seconds(node, machine, step.exchange) + in_node * first.inside;
  price.start_on_rail = latency_seconds(rail, machine, step.exchange) + on_rail * first.between;
  price.in_node = in_node * least_slope(cost.inside, first.inside);
  price.on_rail = on_rail * least_slope(cost.between, first.between);
}

}  // namespace

ExchangePrice price_from_start(const StepContext& step, const MachineModel& machine) {
  const ExchangeShape& shape = shape_of(step.exchange);
  if (shape.forwards || shape.chooses || step.at_home || step.ranks == 1) return {};
  const ExchangeCost cost = least_cost(step, machine);
  const FirstMessages first{least_seconds(cost.inside), least_seconds(cost.between)};
  ExchangePrice price;
  price.start = latency_seconds(step.layout(), machine, step.exchange) + of_rank(step, first.inside, first.between);
  price.busiest = price.mean =
      of_rank(step, least_slope(cost.inside, first.inside), least_slope(cost.between, first.between));
  add_groups(price, step, machine, first);
  return price;
}

ExchangePrice price_per_byte(const StepContext& step, const MachineModel& machine) {
  const ExchangeShape& shape = shape_of(step.exchange);
  if (shape.chooses || step.at_home || step.ranks == 1) return {};
  const ExchangeCost cost = least_cost(step, machine);
  const double slope_inside = least_slope(cost.inside, 0.0), slope_between = least_slope(cost.between, 0.0);
  const RankLayout layout = step.layout();
  const MessagesOfRank messages = messages_of(step.exchange, layout);
  ExchangePrice price{.start = latency_seconds(layout, machine, step.exchange)};
  if (shape.forwards) {
    // Every rank carries the mean.
    price.mean = messages.inside * messages.inside_size * slope_inside +
                 messages.between * messages.between_size * slope_between;
    price.busiest = price.mean / layout.ranks;
  } else {
    price.busiest = price.mean = of_rank(step, slope_inside, slope_between);
    add_groups(price, step, machine, {});
    if (machine.node_bytes_per_second > 0.0 && layout.ranks % layout.per_node == 0)  // shared by the ranks of a node
      price.on_rail = std::max(
          price.on_rail, static_cast<double>(layout.per_node * (layout.nodes() - 1)) / machine.node_bytes_per_second);
  }
  if (machine.node_bytes_per_second > 0.0 && layout.ranks % layout.per_node == 0)
    price.mean = std::max(price.mean, static_cast<double>(layout.per_node) * (layout.ranks - layout.per_node) /
                                          machine.node_bytes_per_second);
  return price;
}

double all_reduce_price(const StepContext& step, const MachineModel& machine) {
  const RankLayout layout = step.layout();
  double least = all_reduce_seconds(layout, machine, large) / large;
  for (const MessageCost* cost : {&machine.all_reduce_inside, &machine.all_reduce_between})
    for (const auto& [bytes, seconds] : cost->points)
      for (const double vector : {bytes, bytes * layout.per_node, bytes * layout.ranks})
        if (vector > 0.0) least = std::min(least, all_reduce_seconds(layout, machine, vector) / vector);
  return least;
}

}  // namespace shardmark::placement
