// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "comm/placement/cost/machine_model.hpp"

namespace shardmark::placement {

inline constexpr std::string_view machine_format = "shardmark-machine/3";

/// Writes a machine as
/// {"format", "name", "source", "measured", "fingerprint", "ranks_per_node", "memory_per_rank", "cache_per_rank",
///  "flops", "dense_start", "data_sheet": {"cores", "memory_bytes_per_second"}, "seconds": {term: seconds},
///  "optimizer_weights": {optimizer: weight}, "exchanges": {name: {"call", "inside_round", "between_round", "inside":
///  [[bytes, seconds], ...], "between": ...}}, "all_reduce": {"call", "inside", "between", "by_trees"}, "software":
///  {"name", "date", "overlaps", "gradient_bytes", "options"}, "row_shares": [[bytes, share], ...], "on_processors",
///  "switch": {"ranks", "bytes_per_second"}, "alone": {"inside": [[bytes, share], ...], "between": ...},
///  "limit": {"bytes_per_second", "burst_bytes"}, "node_bytes_per_second", "bytes_per_second": {"stream", "gather",
///  "update"}, "auto": {"ranks", "nodes", "cells": [{"bytes_per_pair", "skewed", "vs_mpi_alltoallv": {name: ratio}},
///  ...]}}
/// Values that are 0 for unknown, and lists without points, are left out.
nlohmann::ordered_json to_json(const MachineModel& machine);

/// Reads that format. Other keys at the top level are for people: from what numbers a file follows, how well it fits.
/// Throws InputError naming origin and key: not JSON, another format, a key that is missing, an unknown term or
/// optimizer, no number or one that is NaN, infinite, negative, or 0 where a rate or size must not be; a term of more
/// than an hour; points whose bytes do not ascend or whose seconds descend, or messages of more than a second per byte.
MachineModel machine_from_json(const nlohmann::ordered_json& json, const std::string& origin);

/// Reads the machine of a file; named_machine() also finds one that is described in comm/placement/machines/, by name,
/// and puts one together of HARDWARE+SOFTWARE (machine_parts.hpp). Throws InputError as machine_from_json() does, and
/// where the file cannot be read.
MachineModel read_machine(const std::string& file);
MachineModel named_machine(const std::string& name_or_file);

/// Returns the names of the machines that are described there, sorted.
std::vector<std::string> described_machines();

/// Throws InputError unless the machine knows what such ranks need: with several nodes, messages between them.
void require_known(const MachineModel& machine, int nodes);

}  // namespace shardmark::placement
