// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/cost/step_cost.hpp"

namespace shardmark::placement {

/// An exchange in which ranks send bytes to each other rank takes, if anything travels, at least start + busiest x the
/// most that any of them sends, and start + mean x what they send in the mean.
struct ExchangePrice {
  double start = 0.0, busiest = 0.0, mean = 0.0;
};

/// The price that is right about small messages: what any message takes, and the slope from there. The one that is
/// right about large ones: no start, and the least seconds per byte of messages of any size, or of what leaves a node.
ExchangePrice price_from_start(const StepContext& step, const MachineModel& machine);
ExchangePrice price_per_byte(const StepContext& step, const MachineModel& machine);

/// The least seconds per byte of an all-reduce of any size.
double all_reduce_price(const StepContext& step, const MachineModel& machine);

}  // namespace shardmark::placement
