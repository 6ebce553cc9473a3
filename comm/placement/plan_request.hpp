// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/placement/planner_settings.hpp"
#include "comm/placement/statistics/expected_counts.hpp"
#include "comm/placement/traffic/movement.hpp"

namespace shardmark::placement {

struct MachineModel;

/// Holds what a planner is asked for, beside tables and features.
struct PlanRequest {
  int ranks = 1;
  int ranks_per_node = 0;              ///< ranks that share a node, neighbours by number; 0: all of them
  std::int64_t replicate_rows = 6000;  ///< tables of at most so many rows are copied to every rank by mixed planners
  std::int64_t global_batch = 16384;   ///< samples of a step, of all ranks
  IdStatistics ids = {};               ///< how they are drawn
  std::int64_t scale = 1;              ///< by which the rows of the tables were divided; plan files may be of all rows
  Movement movement = {};              ///< how the data of the plan will move
  std::optional<std::int64_t> memory = {};  ///< bytes that a rank has for tables, state, buffers; absent: no limit
  const MachineModel* machine =
      nullptr;                    ///< what predictions are made for; null: described_cluster() (machine_model.hpp)
  std::uint64_t seed = 1;         ///< of planners that draw
  PlannerSettings settings = {};  ///< of this planner: those given in its name
  std::vector<std::string>* remarks = nullptr;  ///< where planners say what users should know of their plan; null: not

  int node_size() const { return ranks_per_node > 0 ? ranks_per_node : ranks; }
};

}  // namespace shardmark::placement
