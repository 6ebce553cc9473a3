// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/control_groups.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace shardmark {
namespace {

namespace fs = std::filesystem;

/// The number that a file begins with; absent where there is none ("max").
std::optional<std::int64_t> number_of(const fs::path& file) {
  std::int64_t value = 0;
  if (std::ifstream(file) >> value) return value;
  return std::nullopt;
}

/// The number behind a word in a file of such pairs.
std::optional<std::int64_t> number_behind(const fs::path& file, const std::string& word) {
  std::ifstream stream(file);
  std::int64_t value = 0;
  for (std::string key; stream >> key;)
    if (key == word && stream >> value) return value;
  return std::nullopt;
}

/// What a group leaves; absent where it sets no limit.
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

std::vector<fs::path> control_groups(const char* controller) {
  const fs::path root = "/sys/fs/cgroup";
  std::vector<fs::path> groups;
  std::ifstream lines("/proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("0::/")) continue;
    for (fs::path group = line.substr(4);; group = group.parent_path()) {
      groups.push_back(root / group);
      if (group.empty()) break;
    }
  }
  groups.push_back(root / controller);
  return groups;
}

std::int64_t memory_available() {
  std::int64_t available = std::numeric_limits<std::int64_t>::max();
  if (const auto kibibytes = number_behind("/proc/meminfo", "MemAvailable:")) available = 1024 * *kibibytes;
  for (const fs::path& group : control_groups("memory"))
    if (const auto left = left_by(group)) available = std::min(available, *left);
  return available;
}

}  // namespace shardmark
