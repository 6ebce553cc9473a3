// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/formats/hugectr_plan_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "comm/placement/formats/hugectr_groups.hpp"
#include "reference/error.hpp"

namespace shardmark::placement {
namespace {

/// Reads the groups and adds the problems, in the order of the rules.
HugectrGroups read_and_check(std::string_view text, std::string_view origin, const HugectrContext& context,
                             std::vector<HugectrProblem>& problems) {
  HugectrGroups groups = parse_hugectr_groups(text, origin, problems);
  const bool readable = std::ranges::find(problems, 1, &HugectrProblem::rule) == problems.end();
  if (readable) check_hugectr_groups(groups, context, problems);
  std::ranges::stable_sort(problems, {}, &HugectrProblem::rule);
  return groups;
}

}  // namespace

std::string HugectrProblem::line() const {
  std::vector<std::string> place;
  const auto add = [&](const char* what, std::int64_t number) {
    if (number >= 0) place.push_back(fmt::format("{} {}", what, number));
  };
  add("rank", rank);
  add("group", group);
  add("lookup", lookup);
  add("table", table);
  return fmt::format("rule {}{}: {}{}{}", rule, only_hugectr ? " (HugeCTR only)" : "", fmt::join(place, ", "),
                     place.empty() ? "" : ": ", text);
}

std::vector<HugectrProblem> check_hugectr_plan(std::string_view text, std::string_view origin,
                                               const HugectrContext& context) {
  std::vector<HugectrProblem> problems;
  read_and_check(text, origin, context, problems);
  return problems;
}

Plan plan_from_hugectr(std::string_view text, std::string_view origin, std::string_view name,
                       const HugectrContext& context) {
  std::vector<HugectrProblem> problems;
  const HugectrGroups groups = read_and_check(text, origin, context, problems);
  for (const HugectrProblem& problem : problems)
    if (!problem.only_hugectr) throw InputError(fmt::format("{}: {}", origin, problem.line()));
  return plan_from_groups(groups, name, context);
}

}  // namespace shardmark::placement
