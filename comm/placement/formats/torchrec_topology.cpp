// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/formats/torchrec_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "comm/placement/cost/machine_file.hpp"
#include "reference/error.hpp"

namespace shardmark::placement {

std::string torchrec_topology(const MachineModel& machine, int ranks, const TopologyDevice& device) {
  const int per_node = machine.ranks_per_node > 0 ? std::min(ranks, machine.ranks_per_node) : ranks;
  if (ranks % per_node != 0)
    throw InputError(fmt::format("machine {}: {} ranks are no whole nodes of {}, as TorchRec has them; give a multiple",
                                 machine.name, ranks, per_node));
  require_known(machine, ranks / per_node);
  nlohmann::ordered_json json{
      {"world_size", ranks}, {"compute_device", std::string(device.name)}, {"local_world_size", per_node}};
  if (machine.memory_per_rank > 0.0) json[device.memory_capacity] = static_cast<std::int64_t>(machine.memory_per_rank);
  const ExchangeCost& sent = machine.exchange("mpi_alltoallv");
  for (const auto& [key, rate] : {std::pair(device.memory_rate, machine.gather_bytes_per_second),
                                  std::pair("intra_host_bw", sent.inside.bytes_per_second()),
                                  std::pair("inter_host_bw", sent.between.bytes_per_second())})
    if (rate > 0.0) json[key] = rate / 1e3;
  return json.dump(1) + "\n";
}

std::string machine_text(const MachineModel& machine, int, const TopologyDevice&) {
  return to_json(machine).dump(2) + "\n";
}

}  // namespace shardmark::placement
