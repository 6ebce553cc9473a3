// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/placement/plan_request.hpp"
#include "workloads/cases/spec.hpp"

namespace shardmark::workloads {

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
