// SPDX-License-Identifier: Apache-2.0
#include "workloads/net/refusals.hpp"

#include <algorithm>
#include <numeric>
#include <regex>

#include "workloads/net/coverage.hpp"

namespace shardmark::workloads {

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
  for (const GivenOption& each : given_options(one))
    given.push_back(std::string(each.option->name) + "=" + value_class(*each.option, each.values.front()));
  given.push_back("plan=" + (one.plan.is_string() ? one.plan.get<std::string>() : std::string("drawn")));
  std::ranges::sort(given);
  for (std::size_t a = 0; a < given.size(); ++a)
    for (std::size_t b = a + 1; b < given.size(); ++b) ++by_pair_[{given[a], given[b]}][reason];
}

std::int64_t Refusals::total() const {
  return std::accumulate(by_reason_.begin(), by_reason_.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& each) { return sum + each.second; });
}

nlohmann::ordered_json Refusals::reasons_of_pairs() const {
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for (const auto& [pair, reasons] : by_pair_)
    all[pair.first][pair.second] =
        std::ranges::max_element(reasons, {}, [](const auto& each) { return each.second; })->first;
  return all;
}

}  // namespace shardmark::workloads
