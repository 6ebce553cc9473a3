// SPDX-License-Identifier: Apache-2.0
#include "workloads/net/coverage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <regex>

#include "comm/placement/planner.hpp"
#include "workloads/net/draw_case.hpp"

namespace shardmark::workloads {
namespace {

using Json = nlohmann::ordered_json;

/// "bruck:3" is a bruck.
std::string without_number(const std::string& name) { return name.substr(0, name.find(':')); }

std::set<std::string> values_of(const NetCase& one, const CaseSetup& setup) {
  std::set<std::string> values{fmt::format("ranks={}", one.ranks), fmt::format("threads={}", one.threads),
                               fmt::format("nodes={}", one.leaders.empty() ? "real" : "pretended"),
                               fmt::format("plan={}", one.planner.empty() ? "drawn" : one.planner)};
  const Json in_effect = case_options(setup.planned().options, setup.config(), setup.planned().plan);
  for (const auto& [name, value] : in_effect.items()) {
    const Option& option = choice_named(options(), "option", name);
    if (!is_drawn(option)) continue;
    if (!value.is_array())
      values.insert(fmt::format("{}={}", name, value_class(option, value)));
    else
      for (const Json& each : value) values.insert(fmt::format("{}={}", name, value_class(option, each)));
  }
  return values;
}

std::string option_in(const std::string& value) { return value.substr(0, value.find('=')); }

}  // namespace

std::string value_class(const Option& option, const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (!value.is_string()) return "number";
  const auto text = value.get<std::string>();
  if (!option.values.empty()) return without_number(text);
  if (option.valid == "true, false") return text;
  if (option.number) return text == option.number->rule.word ? text : "number";
  if (!option.examples.empty()) return text == option.examples.front() ? text : "text";
  return text.empty() ? "none" : "file";
}

void Coverage::add(const NetCase& one, const CaseSetup& setup) {
  ++cases_;
  const auto values = values_of(one, setup);
  for (auto a = values.begin(); a != values.end(); ++a) {
    ++values_[*a];
    auto& with = pairs_[*a];
    for (auto b = std::next(a); b != values.end(); ++b)
      if (option_in(*a) != option_in(*b)) ++with[*b];
  }
}

Json Coverage::values() const { return values_; }
Json Coverage::pairs() const { return pairs_; }

std::set<std::string> all_values() {
  std::set<std::string> all{"plan=drawn"};
  for (const placement::Planner& planner : placement::planners) all.insert(fmt::format("plan={}", planner.name));
  for (const Option& option : options()) {
    if (!is_drawn(option) || !option.get) continue;
    for (const NamedValue& value : option.values)
      all.insert(fmt::format("{}={}", option.name, without_number(value.name)));
    if (option.number) all.insert(fmt::format("{}=number", option.name));
    if (option.number && !option.number->rule.word.empty())
      all.insert(fmt::format("{}={}", option.name, option.number->rule.word));
    if (!option.examples.empty())
      all.insert({fmt::format("{}={}", option.name, option.examples.front()), fmt::format("{}=text", option.name)});
    if (option.valid == "true, false")
      all.insert({fmt::format("{}=true", option.name), fmt::format("{}=false", option.name)});
  }
  return all;
}

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
