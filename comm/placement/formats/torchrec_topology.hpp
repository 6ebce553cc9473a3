// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "comm/placement/cost/machine_model.hpp"

namespace shardmark::placement {

/// Says where the tables of TorchRec are, by the names of its Topology's arguments.
struct TopologyDevice {
  std::string_view name, description;
  const char* memory_rate;      ///< key of the rate of gathered rows
  const char* memory_capacity;  ///< key of the memory of a rank
};

inline constexpr std::array topology_devices{
    TopologyDevice{"cpu", "tables in the memory of hosts", "ddr_mem_bw", "ddr_cap"},
    TopologyDevice{"cuda", "tables in the memory of GPUs", "hbm_mem_bw", "hbm_cap"},
};

/// Writes the arguments of TorchRec's Topology (torchrec/distributed/planner/types.py of 1.5.0) for so many ranks of a
/// machine as JSON, so that `Topology(**json.load(file))` is that machine:
///   {"world_size": 16, "compute_device": "cuda", "local_world_size": 8, "hbm_cap": bytes of a rank, "hbm_mem_bw": ...,
///    "intra_host_bw": ..., "inter_host_bw": ...}
/// Rates are in bytes per millisecond: of gathered rows, and of what a rank sends in large messages of an all-to-all
/// inside its node and to other nodes. What the machine does not know is left out, and is TorchRec's constant then.
/// Throws InputError where nodes have unequal numbers of ranks, or where messages between nodes are not known.
std::string torchrec_topology(const MachineModel& machine, int ranks, const TopologyDevice& device);

/// A MachineFormat is a format in which a machine can be written.
struct MachineFormat {
  std::string_view name, description;
  std::string (*text)(const MachineModel&, int ranks, const TopologyDevice&);
};

std::string machine_text(const MachineModel& machine, int ranks, const TopologyDevice& device);

inline constexpr std::array machine_formats{
    MachineFormat{"shardmark", "machine file, for predictions", machine_text},
    MachineFormat{"torchrec", "arguments of TorchRec's Topology, in bytes per ms", torchrec_topology},
};

}  // namespace shardmark::placement
