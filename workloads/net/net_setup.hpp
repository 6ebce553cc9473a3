// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/measure/prepare.hpp"
#include "workloads/net/net_case.hpp"
#include "workloads/step/pipeline/stage_pool.hpp"

namespace shardmark::workloads {

/// Is a case of the net as the program sets it up before it measures: one plan and one configuration of how its data
/// move.
struct CaseSetup {
  RunOptions requested;  ///< before the plan set its storages
  std::vector<PlannedTables> plans;
  std::vector<PlannedCase> cases;

  const PlannedTables& planned() const { return plans.front(); }
  const Case& config() const { return cases.front().config; }
};

/// Does what `shardmark run` does before it allocates anything, without communicating. Throws InputError where the
/// program refuses the case.
CaseSetup set_up(const NetCase& one, const PoolFacts& facts);

/// Returns the rows of table `column` for which the ids of the converted file were made.
constexpr std::int64_t rows_of_sample_file(std::int64_t column) { return 1 + 7 * column; }

/// Returns files of a few hundred Criteo samples in each format that is read, in the folder; makes them where they are
/// missing.
std::vector<std::string> sample_files(const std::string& folder);

}  // namespace shardmark::workloads
