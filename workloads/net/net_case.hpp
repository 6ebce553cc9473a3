// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "workloads/cases/option_table.hpp"
#include "workloads/cases/spec.hpp"

namespace shardmark::workloads {

/// Is a case of the net as data: all that a run of it needs, so that it can be sent, stored and made smaller.
struct NetCase {
  using Json = nlohmann::ordered_json;

  std::uint64_t number = 0;        ///< that it was drawn from; 0: it was not drawn
  int ranks = 1;                   ///< that run it
  std::vector<int> leaders = {};   ///< lowest rank of each rank's pretended node; empty: nodes are as they are
  int threads = 1;                 ///< of each rank
  std::int64_t steps = 1;          ///< that are checked
  std::uint64_t seed = 1;          ///< of tables, ids and gradients
  Json workload = Json::object();  ///< a spec
  Json options = Json::object();   ///< {"transfer": "auto", ...}: texts by name of the table of options
  Json plan = "table_wise";        ///< name of a planner, or a plan
  std::string planner = {};        ///< that made the plan; empty: none did
};

nlohmann::ordered_json to_json(const NetCase& one);
/// Throws InputError that names `origin`.
NetCase net_case_from_json(const nlohmann::ordered_json& json, const std::string& origin);

/// Returns its spec, as it is before options change it.
Workload workload_of(const NetCase& one);

/// Returns the options of the case, in the order of their table.
std::vector<GivenOption> given_options(const NetCase& one);

/// Returns the command by which a user runs it, when workload and plan are in these files.
std::string command_of(const NetCase& one, const std::string& workload_file, const std::string& plan_file);

}  // namespace shardmark::workloads
