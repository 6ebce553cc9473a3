// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "comm/placement/plan_request.hpp"
#include "workloads/command/case_arguments.hpp"
#include "workloads/measure/prepare.hpp"

namespace shardmark::workloads {

/// Everything that is known before the measurement starts.
struct Setup {
  RunOptions options;
  std::vector<PlannedTables> plans;
  std::vector<PlannedCase> cases;
  std::vector<std::string> left_out;  ///< "plan with storage S is left out: why"

  std::vector<Case> cases_of(std::size_t plan) const {
    std::vector<Case> of_plan;
    for (const PlannedCase& each : cases)
      if (each.plan == plan) of_plan.push_back(each.how);
    return of_plan;
  }
};

/// For whom plans are made.
struct Ranks {
  int count = 1, per_node = 1;
  const placement::MachineModel* machine = nullptr;  ///< by which planners predict; null: a described one
  placement::IdStatistics ids = {};
};

/// The plans that fit these ranks, the same on all of them; of the names on the command line, or those of the workload.
/// Throws InputError where there is none. Collective.
Setup planned(const comm::Communicator& world, const CaseArguments& arguments, const RunOptions& asked,
              const std::vector<Case>& cases, const Ranks& ranks);

}  // namespace shardmark::workloads
