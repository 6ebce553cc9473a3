// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/placement/formats/hugectr_plan_file.hpp"
#include "comm/placement/formats/plan_json.hpp"
#include "comm/placement/formats/shard_matrix.hpp"
#include "comm/placement/formats/torchrec_plan.hpp"
#include "comm/placement/plan.hpp"

namespace shardmark::placement {

/// A PlanFormat is a file format in which a plan can be written; all of them can be read.
struct PlanFormat {
  std::string_view name;
  std::string_view description;
  /// Writes the plan. Throws InputError when the format cannot express it.
  std::string (*text)(const Plan&, std::span<const Table>, std::span<const Feature>);
  /// These are the options of the planner `search` that it can express wherever the search puts them, joined by +;
  /// empty: all.
  std::string_view options_of_search = "data_parallel+table_wise";
};

template <std::size_t spelling>
std::string plan_to_hugectr_as(const Plan& plan, std::span<const Table> tables, std::span<const Feature> lookups) {
  return plan_to_hugectr(plan, tables, lookups, hugectr_spellings[spelling]);
}

inline constexpr std::array plan_formats{
    PlanFormat{"shardmark", "shardmark-plan/1: any plan",
               [](const Plan& plan, std::span<const Table> tables, std::span<const Feature>) {
                 return plan_to_json(plan, tables);
               },
               ""},
    PlanFormat{hugectr_spellings[0].name, hugectr_spellings[0].description, plan_to_hugectr_as<0>},
    PlanFormat{hugectr_spellings[1].name, hugectr_spellings[1].description, plan_to_hugectr_as<1>},
    PlanFormat{hugectr_spellings[2].name, hugectr_spellings[2].description, plan_to_hugectr_as<2>},
    PlanFormat{"hugectr-matrix", "HugeCTR v4.2 and later: shard_matrix and shard_strategy of its shard()",
               [](const Plan& plan, std::span<const Table> tables, std::span<const Feature>) {
                 return plan_to_shard_matrix(plan, tables);
               }},
    PlanFormat{"torchrec-plan", "TorchRec's sharding plan: no rows modulo ranks",
               [](const Plan& plan, std::span<const Table> tables, std::span<const Feature>) {
                 return plan_to_torchrec(plan, tables);
               },
               "data_parallel+table_wise+column_wise_fours+row_wise_in_order+table_row_wise_in_order"},
};

/// Reads a plan in any format: a JSON array is a HugeCTR plan file, an object with "shard_matrix" HugeCTR's later
/// interface, one with "plan" or with modules of sharding types TorchRec's (these plans are named after the file),
/// anything else ours. Throws InputError
/// naming the file when it cannot be read or the plan is not sound (plan_check.hpp). The caller compares plan.ranks
/// with the ranks it has. scale: the rows of the tables have been divided by it; a plan of whole tables is divided too
/// (divided_plan.hpp) where it is sound then.
Plan read_plan(const std::string& path, std::span<const Table> tables, std::span<const Feature> features,
               std::int64_t scale = 1);

/// Does the same with the text of a file that would be called so.
Plan plan_in_text(const std::string& text, const std::string& path, std::span<const Table> tables,
                  std::span<const Feature> features, std::int64_t scale = 1);

/// Holds what a plan file is checked against.
struct PlanFileCheck {
  std::span<const Table> tables;
  std::span<const Feature> features;
  std::optional<int> ranks = {};
  std::optional<std::int64_t> bytes_per_rank = {};  ///< memory for tables and optimizer state
  std::optional<std::int64_t> global_batch = {};    ///< must divide by the ranks
  std::int64_t scale = 1;                           ///< by which the rows of the tables were divided
  bool hugectr_limits = false;  ///< also tell what HugeCTR refuses although it is meaningful, or cannot express
};

/// Returns all problems of the plan file, a line each that names the file and, for HugeCTR's format and limits, the
/// rule.
std::vector<std::string> check_plan_file(const std::string& path, const PlanFileCheck& expected);

}  // namespace shardmark::placement
