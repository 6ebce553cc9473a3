// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "results/comparison.hpp"
#include "results/launch.hpp"

namespace shardmark::results {

inline constexpr ComparisonOptions in_pairs{.paired = true};

/// Launches of one case "a" whose medians are `milliseconds`, in files side/1, side/2, ...
inline std::vector<Launch> launches_of(const std::vector<double>& milliseconds, const std::string& side = "old") {
  std::vector<Launch> launches;
  for (const double ms : milliseconds) {
    Launch launch;
    launch.file = side + '/' + std::to_string(launches.size() + 1);
    launch.context = {{"host_name", "node1"}, {"flags", "-O3"}};
    launch.cases = {{"a", ms, ""}};
    launches.push_back(launch);
  }
  return launches;
}

}  // namespace shardmark::results
