// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/command/doctor/facts.hpp"

namespace shardmark::workloads {

/// Something that may make a run slower or its times doubtful. find(): what is; what it costs or why; the command that
/// changes it, in one line; nothing where all is well.
struct FindingRule {
  std::string_view name;
  std::optional<std::string> (*find)(const Facts& facts);
};

/// In the order in which they are printed.
std::span<const FindingRule> rules();

std::vector<std::string> findings(const Facts& facts);

/// Of the ranks of rank 0's node: how they share its cores.
struct CoreUse {
  std::int64_t ranks = 0, threads = 0;
  std::int64_t cores = 0;   ///< that any of them may use
  std::int64_t shared = 0;  ///< that several of them may use
};
CoreUse core_use(const Facts& facts);

}  // namespace shardmark::workloads
