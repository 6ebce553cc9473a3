// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace shardmark::workloads {

/// Returns the folders of the control groups that a process is in, from the innermost to the root: a limit of any of
/// them holds. They are those of version 2, and of version 1 those of `controller`: cpu, memory. of_process:
/// /proc/PID/cgroup.
std::vector<std::filesystem::path> control_groups(const std::string& controller,
                                                  const std::filesystem::path& of_process = "/proc/self/cgroup",
                                                  const std::filesystem::path& root = "/sys/fs/cgroup");

/// Returns the bytes that processes may still take on this node: an even part, for each of `nodes` that share the
/// kernel, of what that calls available, or what the tightest of the control groups leaves. File pages that it can drop
/// do not count as taken.
std::int64_t memory_available(int nodes = 1);

}  // namespace shardmark::workloads
