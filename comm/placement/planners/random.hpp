// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <vector>

#include "comm/placement/plan.hpp"
#include "comm/placement/plan_request.hpp"
#include "reference/counter_random.hpp"

namespace shardmark::placement {

inline constexpr std::array random_settings{
    PlannerSetting{"seed", "", "another plan for each number; off: the seed that the program was given"},
};

/// Places whole tables, each on a rank drawn independently: any rule should be better than that.
inline std::vector<TablePlacement> place_random(std::span<const Table> tables, std::span<const Feature>,
                                                const PlanRequest& request) {
  const auto said = request.settings.maybe_whole("seed");
  const std::uint64_t seed = said ? static_cast<std::uint64_t>(*said) : request.seed;
  std::vector<TablePlacement> placements;
  for (const Table& table : tables) {
    const double drawn = unit_interval(random_bits(seed, placements.size()));
    placements.push_back({.shards = {whole(table, static_cast<int>(drawn * request.ranks))}});
  }
  return placements;
}

}  // namespace shardmark::placement
