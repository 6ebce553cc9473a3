// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/formats/plan_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "comm/placement/divided_plan.hpp"
#include "comm/placement/memory_fit.hpp"
#include "comm/placement/plan_check.hpp"
#include "reference/error.hpp"
#include "reference/input_file.hpp"
#include "reference/json.hpp"

namespace shardmark::placement {
namespace {

std::string read_file(const std::string& path) {
  if (auto text = file_text(path)) return *std::move(text);
  throw InputError(fmt::format("{}: cannot read this plan file", path));
}

bool is_hugectr(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '[';
}

/// The plan in a file that is no HugeCTR plan file. problems: plan_from_json()
Plan plan_in(std::string_view text, const std::string& path, std::span<const Table> tables,
             std::vector<std::string>* problems = nullptr) {
  const auto document = parse_json(text, path);
  const std::string name = std::filesystem::path(path).stem().string();
  if (document.contains("shard_matrix")) return plan_from_shard_matrix(text, path, name, tables);
  if (is_torchrec_plan(document)) return plan_from_torchrec(text, path, name, tables);
  return plan_from_json(text, path, tables, problems);
}

/// The plan where it is sound, or of whole tables; else the same of tables that were divided, where that is sound.
Plan whole_or_divided(Plan plan, std::span<const Table> tables, std::int64_t scale) {
  if (scale == 1 || check(plan, tables).empty()) return plan;
  Plan divided = divided_plan(plan, tables, scale);
  return check(divided, tables).empty() ? divided : plan;
}

void add_hugectr_problems(std::string_view text, const std::string& path, const PlanFileCheck& expected,
                          bool only_limits, std::vector<std::string>& lines) {
  const HugectrContext context{.tables = expected.tables,
                               .lookups = expected.features,
                               .ranks = expected.ranks,
                               .bytes_per_rank = expected.bytes_per_rank,
                               .global_batch = expected.global_batch};
  for (const HugectrProblem& problem : check_hugectr_plan(text, path, context))
    if (problem.only_hugectr ? expected.hugectr_limits : !only_limits)
      lines.push_back(fmt::format("{}: {}", path, problem.line()));
}

std::vector<std::string> expectations_missed(const Plan& plan, const PlanFileCheck& expected) {
  std::vector<std::string> problems;
  if (expected.ranks && plan.ranks != *expected.ranks)
    problems.push_back(fmt::format("the plan is for {} ranks, the job has {}", plan.ranks, *expected.ranks));
  if (expected.global_batch && plan.ranks > 0 && *expected.global_batch % plan.ranks != 0)
    problems.push_back(
        fmt::format("the global batch of {} does not divide by {} ranks", *expected.global_batch, plan.ranks));
  if (expected.bytes_per_rank && check(plan, expected.tables).empty())
    std::ranges::copy(memory_problems(plan, expected.tables, static_cast<double>(*expected.bytes_per_rank)),
                      std::back_inserter(problems));
  return problems;
}

void add_problems(std::string_view text, const std::string& path, const PlanFileCheck& expected,
                  std::vector<std::string>& lines) {
  Plan plan = plan_in(text, path, expected.tables, &lines);
  if (lines.empty()) {
    plan = whole_or_divided(std::move(plan), expected.tables, expected.scale);
    for (const std::string& problem : check(plan, expected.tables))
      lines.push_back(fmt::format("{}: {}", path, problem));
  }
  const bool sound = lines.empty();
  for (const std::string& problem : expectations_missed(plan, expected))
    lines.push_back(fmt::format("{}: {}", path, problem));
  if (!sound || !expected.hugectr_limits) return;
  try {
    const std::string converted = plan_to_hugectr(plan, expected.tables, expected.features, hugectr_spellings.back());
    add_hugectr_problems(converted, path, expected, true, lines);
  } catch (const InputError& error) {
    lines.push_back(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace

Plan read_plan(const std::string& path, std::span<const Table> tables, std::span<const Feature> features,
               std::int64_t scale) {
  return plan_in_text(read_file(path), path, tables, features, scale);
}

Plan plan_in_text(const std::string& text, const std::string& path, std::span<const Table> tables,
                  std::span<const Feature> features, std::int64_t scale) {
  const std::string name = std::filesystem::path(path).stem().string();
  const Plan plan = is_hugectr(text) ? plan_from_hugectr(text, path, name, {.tables = tables, .lookups = features})
                                     : whole_or_divided(plan_in(text, path, tables), tables, scale);
  require_sound(plan, tables, path);
  return plan;
}

std::vector<std::string> check_plan_file(const std::string& path, const PlanFileCheck& expected) {
  std::vector<std::string> lines;
  try {
    const std::string text = read_file(path);
    if (is_hugectr(text))
      add_hugectr_problems(text, path, expected, false, lines);
    else
      add_problems(text, path, expected, lines);
  } catch (const InputError& error) {
    lines.push_back(error.what());
  }
  return lines;
}

}  // namespace shardmark::placement
