// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/placement/cost/machine_model.hpp"

namespace shardmark::placement {

/// Holds the links that leave a node: a rank sends over one of them at a time.
struct NodeLinks {
  int count = 1;
  double bytes_per_second = 0.0;  ///< of one, in one direction
};

/// Holds what a data sheet says of a machine. What is absent is that of another machine.
struct DataSheet {
  std::optional<double> cores = {};                    ///< of a rank
  std::optional<double> memory_bytes_per_second = {};  ///< of a rank
  std::optional<NodeLinks> links = {};
  std::optional<double> latency = {};  ///< seconds of an empty message between nodes
  std::optional<int> ranks_per_node = {};
  std::optional<double> memory = {};  ///< bytes of a rank
};

/// Holds a machine that follows from another and a data sheet, and by which rules: a line each.
struct MachineDescription {
  MachineModel machine;
  std::vector<std::string> rules;
};

/// Makes `like` the machine of the sheet. Messages between nodes take the latency, and their bytes at 90 % of a link;
/// all links of a node carry 90 % of their sum. What the memory bounds scales with its bandwidth, what cores bound with
/// their number; on machines that are described without cores (GPUs) the memory bounds both. What starts a phase or a
/// table stays. Throws InputError where the sheet says cores or bandwidth and the other machine has no data sheet to
/// scale from, and where it gives a latency for links that nobody knows.
MachineDescription described_machine(MachineModel like, const DataSheet& sheet);

}  // namespace shardmark::placement
