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

/// Adds the least seconds per byte of messages inside nodes and along rails, where all of them are sent directly.
ExchangePrice with_groups(ExchangePrice price, const StepContext& step, const ExchangeCost& cost) {
  const RankLayout layout = step.layout();
  if (layout.nodes() > 1 && layout.ranks % layout.per_node != 0) return price;
  price.in_node = (layout.on_node(0) - 1) * least_slope(cost.inside, 0.0);
  price.on_rail = (layout.nodes() - 1) * least_slope(cost.between, 0.0);
  return price;
}

}  // namespace

ExchangePrice price_from_start(const StepContext& step, const MachineModel& machine) {
  const ExchangeShape& shape = shape_of(step.exchange);
  if (shape.forwards || shape.chooses || step.at_home || step.ranks == 1) return {};
  const MessageCost &inside = machine.exchange(step.exchange).inside,
                    &between = machine.exchange(step.exchange).between;
  const double first_inside = least_seconds(inside), first_between = least_seconds(between);
  const double slope = of_rank(step, least_slope(inside, first_inside), least_slope(between, first_between));
  return with_groups({of_rank(step, first_inside, first_between), slope, slope}, step, machine.exchange(step.exchange));
}

ExchangePrice price_per_byte(const StepContext& step, const MachineModel& machine) {
  const ExchangeShape& shape = shape_of(step.exchange);
  if (shape.chooses || step.at_home || step.ranks == 1) return {};
  const MessageCost &inside = machine.exchange(step.exchange).inside,
                    &between = machine.exchange(step.exchange).between;
  const double slope_inside = least_slope(inside, 0.0), slope_between = least_slope(between, 0.0);
  const RankLayout layout = step.layout();
  const MessagesOfRank messages = messages_of(step.exchange, layout);
  ExchangePrice price;
  if (shape.forwards) {
    // Every rank carries the mean.
    price.mean = messages.inside * messages.inside_size * slope_inside +
                 messages.between * messages.between_size * slope_between;
    price.busiest = price.mean / layout.ranks;
  } else {
    price.busiest = price.mean = of_rank(step, slope_inside, slope_between);
    price = with_groups(price, step, machine.exchange(step.exchange));
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
