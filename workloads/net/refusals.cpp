// SPDX-License-Identifier: Apache-2.0
#include "workloads/net/refusals.hpp"

#include <algorithm>
#include <numeric>
#include <regex>

#include "comm/placement/planner.hpp"

namespace shardmark {

std::string reason_of(const std::string& message) {
  static const std::regex rank("^rank [0-9]+ \\([^)]*\\): "), file("[^ ']*/[^ ']+"), quoted("'[^']*'"),
      named("\\b(table|feature) [A-Za-z]+[0-9]+"), planner("^plan [^ :]+"), number("[0-9]+(\\.[0-9]+)?(e-?[0-9]+)?");
  std::string text = std::regex_replace(message, rank, "");
  text = std::regex_replace(text, file, "FILE");
  text = std::regex_replace(text, quoted, "'...'");
  text = std::regex_replace(text, named, "$1 X");
  text = std::regex_replace(text, planner, "plan P");
  return std::regex_replace(text, number, "N");
}

void Refusals::add(const NetCase& one, const std::string& message) {
  const std::string reason = reason_of(message);
  ++by_reason_[reason];
  std::vector<std::string> given;
  for (const auto& [name, value] : one.options.items()) given.push_back(name + "=" + value.get<std::string>());
  if (one.plan.is_string()) given.push_back("plan=" + one.plan.get<std::string>());
  std::ranges::sort(given);
  for (std::size_t a = 0; a < given.size(); ++a)
    for (std::size_t b = a + 1; b < given.size(); ++b) ++by_pair_[{given[a], given[b]}][reason];
}

std::int64_t Refusals::total() const {
  return std::accumulate(by_reason_.begin(), by_reason_.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& each) { return sum + each.second; });
}

std::string Refusals::reason(const std::string& one, const std::string& other) const {
  const auto reasons = by_pair_.find(std::minmax(one, other));
  if (reasons == by_pair_.end()) return {};
  return std::ranges::max_element(reasons->second, {}, [](const auto& each) { return each.second; })->first;
}

}  // namespace shardmark
