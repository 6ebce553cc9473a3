// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "comm/placement/plan_check.hpp"
#include "comm/placement/planner.hpp"
#include "workloads/cases/placement_inputs.hpp"
#include "workloads/cases/spec.hpp"

namespace shardmark::workloads {
namespace {

/// The planner as --plan names it; one that plans for as long as it may is given little time.
std::string named_briefly(const placement::Planner& planner) {
  const bool timed =
      std::ranges::find(planner.settings, "seconds", &placement::PlannerSetting::name) != planner.settings.end();
  return std::string(planner.name) + (timed ? ":seconds=0.01" : "");
}

/// Every planner on every workload, none of them scaled.
class Plans : public testing::TestWithParam<int> {};

TEST_P(Plans, ArePlansOfTheWholeWorkload) {
  for (const std::string& name : builtin_workloads()) {
    const Workload workload = load_workload(name);
    for (const placement::Planner& planner : placement::planners) {
      SCOPED_TRACE(testing::Message() << planner.name << " of " << name);
      const placement::Plan plan = placement::make_plan(named_briefly(planner), workload.tables, workload.features,
                                                        plan_request_of(workload, GetParam()));
      EXPECT_EQ(plan.ranks, GetParam());
      EXPECT_EQ(placement::check(plan, workload.tables), std::vector<std::string>());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Plans, testing::Values(1, 3, 17, 128));

/// Nodes of 8, which planners of rows within a node take into account.
TEST(PlansOfNodes, ArePlansOfTheWholeWorkload) {
  for (const char* name : {"synthetic-medium", "dlrm-dcnv2"}) {
    const Workload workload = load_workload(name);
    placement::PlanRequest request = plan_request_of(workload, 24);
    request.ranks_per_node = 8;
    for (const placement::Planner& planner : placement::planners) {
      SCOPED_TRACE(testing::Message() << planner.name << " of " << name);
      const placement::Plan plan =
          placement::make_plan(named_briefly(planner), workload.tables, workload.features, request);
      EXPECT_EQ(placement::check(plan, workload.tables), std::vector<std::string>());
    }
  }
}

}  // namespace
}  // namespace shardmark::workloads
