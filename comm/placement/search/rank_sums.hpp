// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "comm/placement/cost/step_cost.hpp"

namespace shardmark::placement {

/// Holds a RankWork for one machine: what adds up on a rank, with the terms of a phase already as seconds. Sorts take
/// their seconds per pass times the passes for all their keys. Rows that ranks request together (Dedup::node) are not
/// included, because they depend on the rank.
struct RankSums {
  enum Place : std::size_t {
    computing,  ///< seconds by phase, without sorts
    sorted = phase_count,
    update_sorted,
    replicated_sorted,
    sorted_keys,
    update_keys,
    replicated_keys,
    requested,  ///< bytes with each other rank, by exchange phase
    vectors,
    gradients,
    row_sums,
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
