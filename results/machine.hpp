// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace shardmark::results {

/// Returns what Linux reports about the machine this process runs on:
///   {cpu, logical_cpus, cores, memory_bytes, kernel, governor, smt, numa_nodes, transparent_huge_pages, aslr}
/// read from <root>/proc and <root>/sys; a value is null where its file is absent or cannot be read.
nlohmann::ordered_json describe_machine(const std::filesystem::path& root = "/");

}  // namespace shardmark::results
