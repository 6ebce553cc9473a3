// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "comm/placement/cost/machine_model.hpp"

namespace shardmark::placement {

class MachineObject;

inline constexpr std::string_view hardware_format = "shardmark-hardware/1", software_format = "shardmark-software/1";

/// Is a part of a machine that is described in comm/placement/machines/hardware/ or software/.
struct MachinePart {
  std::string name, source;
};
std::vector<MachinePart> described_hardware();
std::vector<MachinePart> described_software();

/// Puts a machine together of what data sheets say (hardware) and of what runs on it (software): names of described
/// parts, or files.
///   {"format": "shardmark-hardware/1", "name", "source", "ranks_per_node", "memory_per_rank", "cache_per_rank",
///    "memory_bytes_per_second", "flops": {value type: flops per second}, "inside": {"bytes_per_second": from a rank to
///    those of its node, "switch": {"ranks": that share one, "bytes_per_second": of what leaves it}}, "between":
///    {"links": of a node, "bytes_per_second": of a link}}
///   {"format": "shardmark-software/1", "name", "date", "source", "options": of a case, "overlaps", "dense": {"format":
///    value type, "flops_share", "gradient_bytes"}, "memory_share", "row_shares": [[bytes, share], ...], "launch":
///    {"seconds", a number by phase}, "links": {"call", "inside": {"share", "round", "message"}, "between": ...}}
/// Terms take their bytes (terms.hpp) at that share of the memory's speed, or at that of rows of their size; flops
/// those of the format; steps the launches; messages their bytes at the share of the links. Half of the cache holds
/// rows. Throws InputError naming file and key: keys that are missing or unknown, numbers out of range, curves that
/// fall, a format whose flops the hardware does not state.
MachineModel machine_of_parts(const std::string& hardware, const std::string& software);

/// Reads the software of a machine file, and the switch that ranks share.
Software software_of(const MachineObject& object);
void read_switch(const MachineObject& object, MachineModel& machine);

/// Throws InputError where the file is a part of a machine, and not a whole one; where a name is that of a part.
void require_whole(const MachineObject& top);
void require_no_part(std::string_view name);

}  // namespace shardmark::placement
