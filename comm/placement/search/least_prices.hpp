// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/cost/step_cost.hpp"

namespace shardmark::placement {

/// Bounds an exchange from below. If anything travels between all ranks, it takes at least start + busiest x the most
/// bytes that any rank sends to each other, and start + mean x what they send in the mean. What ranks exchange inside
/// nodes and along rails is bounded besides, by a start and what they send in the mean.
struct ExchangePrice {
  double start = 0.0, busiest = 0.0, mean = 0.0;
  double start_in_node = 0.0, in_node = 0.0, start_on_rail = 0.0, on_rail = 0.0;
};

/// Returns the price that is right about small messages: what any message takes, and the slope from there.
/// price_per_byte() returns the one that is right about large ones: the latency of the exchange alone, and the least
/// seconds per byte of messages of any size, or of what leaves a node.
ExchangePrice price_from_start(const StepContext& step, const MachineModel& machine);
ExchangePrice price_per_byte(const StepContext& step, const MachineModel& machine);

/// Returns the least seconds per byte of an all-reduce of any size.
double all_reduce_price(const StepContext& step, const MachineModel& machine);

}  // namespace shardmark::placement
