// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/control_groups.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace shardmark::workloads {
namespace {

namespace fs = std::filesystem;

/// Returns the number that a file begins with; absent where there is none ("max").
std::optional<std::int64_t> number_of(const fs::path& file) {
  std::int64_t value = 0;
  if (std::ifstream(file) >> value) return value;
  return std::nullopt;
}

/// Returns the number behind a word in a file of such pairs.
std::optional<std::int64_t> number_behind(const fs::path& file, const std::string& word) {
  std::ifstream stream(file);
  std::int64_t value = 0;
  for (std::string key; stream >> key;)
    if (key == word && stream >> value) return value;
  return std::nullopt;
}

/// Returns what a group leaves; absent where it sets no limit.
std::optional<std::int64_t> left_by(const fs::path& group) {
  auto limit = number_of(group / "memory.max");
  auto used = number_of(group / "memory.current");
  if (!limit) {  // version 1
    limit = number_of(group / "memory.limit_in_bytes");
    used = number_of(group / "memory.usage_in_bytes");
  }
  if (!limit) return std::nullopt;
  const std::int64_t dropped = number_behind(group / "memory.stat", "inactive_file").value_or(0);
  return std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, used.value_or(0) - dropped));
}

}  // namespace

std::vector<fs::path> control_groups(const std::string& controller, const fs::path& of_process, const fs::path& root) {
  std::vector<fs::path> groups;
  std::ifstream lines(of_process);
  for (std::string line; std::getline(lines, line);) {  // number:controllers:/group; version 2 names no controllers
    const auto first = line.find(':'), second = line.find(":/", first);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers != ",," && controllers.find("," + controller + ",") == std::string::npos) continue;
    const fs::path top = controllers == ",," ? root : root / controller;
    for (fs::path group = line.substr(second + 2);; group = group.parent_path()) {
      groups.push_back(group.empty() ? top : top / group);
      if (group.empty()) break;
    }
  }
  return groups;
}

std::int64_t memory_available(int nodes) {
  std::int64_t available = std::numeric_limits<std::int64_t>::max();
  if (const auto kibibytes = number_behind("/proc/meminfo", "MemAvailable:")) available = 1024 * *kibibytes / nodes;
  for (const fs::path& group : control_groups("memory"))
    if (const auto left = left_by(group)) available = std::min(available, *left);
  return available;
}

}  // namespace shardmark::workloads
