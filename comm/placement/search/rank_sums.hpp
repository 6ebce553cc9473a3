// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "comm/placement/cost/step_cost.hpp"

namespace shardmark::placement {

inline constexpr std::size_t exchange_phases = 3;  ///< exchange phases: input_dist, output_dist, grad_dist

/// Holds a RankWork for one machine: what adds up on a rank, with the terms of a phase already as seconds. The sort of
/// ids whose rows are asked for one by one (route.sorted_id) takes its seconds per pass times the passes for all its
/// keys, and what its digits take, which does not add up (StepSeconds).
struct RankSums {
  enum Place : std::size_t {
    computing,  ///< seconds by phase, without that sort
    sorted = phase_count,
    sorted_keys,
    exchanged,                              ///< bytes with each other rank (PhaseBytes::all), by exchange phase
    in_node = exchanged + exchange_phases,  ///< bytes with each other rank of its node
    on_rail = in_node + exchange_phases,    ///< bytes with each rank of its rail
    row_sums = on_rail + exchange_phases,
    memory,
    places
  };
  std::array<double, places> at{};

  double operator[](std::size_t place) const { return at[place]; }
  double& operator[](std::size_t place) { return at[place]; }
  RankSums& operator+=(const RankSums& other) {
    for (std::size_t p = 0; p < places; ++p) at[p] += other.at[p];
    return *this;
  }
  RankSums& operator-=(const RankSums& other) {
    for (std::size_t p = 0; p < places; ++p) at[p] -= other.at[p];
    return *this;
  }

  bool operator==(const RankSums&) const = default;
};

/// Returns the sums of `work`, without the terms that a step has once, whatever its tables.
RankSums sums_of(const RankWork& work, const MachineModel& machine);

/// Returns the seconds, by phase, that a rank computes on account of its tables.
std::array<double, phase_count> compute_seconds(const RankSums& sums);

}  // namespace shardmark::placement
