// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/placement/plan_request.hpp"
#include "workloads/cases/spec.hpp"
#include "workloads/command/case_arguments.hpp"
#include "workloads/measure/job.hpp"
#include "workloads/measure/status.hpp"

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
      if (each.plan == plan) of_plan.push_back(each.config);
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
Setup planned(const comm::Communicator& world, const CaseArguments& arguments, const RunOptions& requested,
              const std::vector<Case>& cases, const Ranks& ranks);

/// Plans that rank 0 makes and all ranks have: a planner whose time is over gives another plan on each.
class SharedPlans {
 public:
  explicit SharedPlans(const comm::Communicator& world) : is_first_(world.rank() == 0) {}

  /// Of a planner or file (named_plan). On rank 0 it is made and remembered; on the others it is what rank 0 got when
  /// it called for the same time, after share(), an InputError included. All ranks must ask for the same plans in turn.
  placement::Plan named(const std::string& name_or_file, const Workload& workload,
                        const placement::PlanRequest& request);

  /// Tells the other ranks what rank 0 has remembered. Collective.
  void share(const comm::Communicator& world);

 private:
  struct Outcome {
    bool planned = false;
    std::string text;  ///< the plan, or why there is none
  };
  Outcome make(const std::string& name_or_file, const Workload& workload, const placement::PlanRequest& request) const;

  bool is_first_;
  std::vector<Outcome> outcomes_;
  std::size_t next_ = 0;
};

}  // namespace shardmark::workloads
