// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/shared_plans.hpp"

#include <nlohmann/json.hpp>

#include "comm/collectives.hpp"
#include "comm/placement/formats/plan_json.hpp"
#include "comm/placement/named_plan.hpp"

namespace shardmark::workloads {

SharedPlans::Outcome SharedPlans::make(const std::string& name_or_file, const Workload& workload,
                                       const placement::PlanRequest& request) const {
  try {
    return {true,
            placement::plan_to_json(placement::named_plan(name_or_file, workload.tables, workload.features, request),
                                    workload.tables)};
  } catch (const InputError& error) {
    return {false, error.what()};
  }
}

placement::Plan SharedPlans::named(const std::string& name_or_file, const Workload& workload,
                                   const placement::PlanRequest& request) {
  if (is_first_) outcomes_.push_back(make(name_or_file, workload, request));
  const Outcome& outcome = outcomes_.at(next_++);
  if (!outcome.planned) throw InputError(outcome.text);
  return placement::plan_from_json(outcome.text, name_or_file, workload.tables);
}

void SharedPlans::share(const comm::Communicator& world) {
  nlohmann::json all = nlohmann::json::array();
  for (const Outcome& outcome : outcomes_) all.push_back({{"planned", outcome.planned}, {"text", outcome.text}});
  std::string text = all.dump();
  comm::broadcast(world, text, 0);
  outcomes_.clear();
  for (const auto& outcome : nlohmann::json::parse(text))
    outcomes_.push_back({outcome.at("planned").get<bool>(), outcome.at("text").get<std::string>()});
}

}  // namespace shardmark::workloads
