// SPDX-License-Identifier: Apache-2.0
#include "workloads/net/net_case.hpp"

#include <fmt/format.h>

#include "reference/error.hpp"
#include "reference/named.hpp"

namespace shardmark::workloads {
namespace {

using Json = NetCase::Json;

}  // namespace

Json to_json(const NetCase& one) {
  Json json{{"number", one.number}, {"ranks", one.ranks},     {"threads", one.threads}, {"steps", one.steps},
            {"seed", one.seed},     {"options", one.options}, {"plan", one.plan},       {"workload", one.workload}};
  if (!one.leaders.empty()) json["leaders"] = one.leaders;
  if (!one.planner.empty()) json["planner"] = one.planner;
  return json;
}

NetCase net_case_from_json(const Json& json, const std::string& origin) try {
  NetCase one;
  for (const auto& [key, value] : json.items()) {
    if (key == "number")
      value.get_to(one.number);
    else if (key == "ranks")
      value.get_to(one.ranks);
    else if (key == "leaders")
      value.get_to(one.leaders);
    else if (key == "threads")
      value.get_to(one.threads);
    else if (key == "steps")
      value.get_to(one.steps);
    else if (key == "seed")
      value.get_to(one.seed);
    else if (key == "workload")
      one.workload = value;
    else if (key == "options")
      one.options = value;
    else if (key == "plan")
      one.plan = value;
    else if (key == "planner")
      value.get_to(one.planner);
    else if (key != "note")
      throw InputError(fmt::format("{}: unknown key \"{}\"", origin, key));
  }
  return one;
} catch (const Json::exception& error) {
  throw InputError(fmt::format("{}: {}", origin, error.what()));
}

Workload workload_of(const NetCase& one) {
  return one.workload.is_string() ? load_workload(one.workload.get<std::string>())
                                  : workload_from_json(one.workload, "workload");
}

std::vector<GivenOption> given_options(const NetCase& one) {
  std::vector<GivenOption> given;
  for (const auto& [name, value] : one.options.items()) {
    const Option& option = choice_named(options(), "option", name);
    given.push_back({&option, {value.get<std::string>()}, option.flag()});
  }
  return given;
}

std::string command_of(const NetCase& one, const std::string& workload_file, const std::string& plan_file) {
  std::string command = fmt::format(
      "mpiexec -n {} --oversubscribe shardmark run {} --plan {} --threads {} --seed {} --check {} --steps 1 "
      "--machine off",
      one.ranks, workload_file, plan_file, one.threads, one.seed, one.steps);
  for (const GivenOption& each : given_options(one))
    command += fmt::format(" {} '{}'", each.where, each.values.front());
  return command;
}

}  // namespace shardmark::workloads
