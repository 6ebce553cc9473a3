// SPDX-License-Identifier: Apache-2.0
#include "workloads/net/draw_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/number.hpp"
#include "workloads/cases/case.hpp"
#include "workloads/cases/option_use.hpp"
#include "workloads/cases/options.hpp"

namespace shardmark::workloads {
namespace {

using Json = nlohmann::ordered_json;

std::string draw_whole(Draw& draw, const NumberRule& rule) {
  const auto least = static_cast<std::int64_t>(rule.least) + (rule.above ? 1 : 0);
  return std::to_string(least + (draw.chance(0.7) ? draw.whole(0, 3) : draw.log_whole(1, 64)));
}

/// A fraction of what is usual, or of 1 where that is 0: an optimizer's numbers beyond it make rows grow without bound.
std::string draw_real(Draw& draw, const NumberRule& rule, const Json& usual) {
  const double number = usual.is_number() && usual.get<double>() > 0.0 ? usual.get<double>() : 0.5;
  const double factor = draw.of({1.0, 0.5, 0.25, 0.125, rule.least == 0.0 && !rule.above ? 0.0 : 1.0});
  return fmt::format("{:g}", std::max(rule.least, number * factor));
}

/// How often an option is given, where it may be of use.
double chance_of(const Option& option) {
  if (option.name == "transfer" || option.name == "exchange" || option.name == "dense") return 0.6;
  if (option.name == "async") return 0.3;
  if (option.valid == "a file") return 1.0;  // the files fit the workload
  switch (option.group) {
    case OptionGroup::movement:
      return 0.25;
    case OptionGroup::storage:
    case OptionGroup::dense:
    case OptionGroup::data:
      return 0.3;
    case OptionGroup::run:
      return 0.2;
    default:
      return 0.05;
  }
}

/// Options that are of no use without this one come behind it.
bool decides_use(const Option& option) {
  return option.name == "async" || option.name == "storage" || option.name == "dense" || option.name == "data";
}

}  // namespace

bool is_drawn(const Option& option) { return option.group != OptionGroup::schedule && option.name != "fault"; }

std::string draw_value(Draw& draw, const Option& option, const Json& usual, const NetFiles& files) {
  if (!option.values.empty()) {
    std::string name = draw.of(option.values).name;
    const auto colon = name.find(':');  // its number may be another
    if (colon != name.npos && draw.chance(0.5)) name = fmt::format("{}:{}", name.substr(0, colon), draw.whole(1, 5));
    return name;
  }
  if (const auto of_option = files.find(option.name); of_option != files.end()) return draw.of(of_option->second);
  if (!option.number) return draw.chance(0.5) ? "true" : "false";
  const auto& [rule, whole, list] = *option.number;
  if (!rule.word.empty() && draw.chance(0.3)) return std::string(rule.word);
  if (!whole) return draw_real(draw, rule, usual);
  std::string text = draw_whole(draw, rule);
  for (std::int64_t more = list ? draw.whole(0, 2) : 0; more > 0; --more) text += "," + draw_whole(draw, rule);
  return text;
}

Json draw_options(Draw& draw, const Json& workload, const NetFiles& files) {
  RunOptions run;
  run.workload = workload_from_json(workload, "workload");
  Case how;
  Json drawn = Json::object();
  for (const bool first : {true, false})
    for (const Option& option : options()) {
      if (!is_drawn(option) || decides_use(option) != first || !draw.chance(chance_of(option))) continue;
      if (option.valid == "a file" && !files.contains(option.name)) continue;
      if (!first && option.get && !has_use(option, run)) continue;
      if (option.name.starts_with("async_") && !how.async.on()) continue;
      if (option.name == "staleness_bound" && !how.async.looks_up()) continue;
      const std::string value = draw_value(draw, option, option.get ? option.get(run, how) : Json(), files);
      drawn[option.name] = value;
      try {
        option.set(run, how, value);
        if (option.name == "storage") run = with_storage(std::move(run), how.storage);
      } catch (const InputError&) {  // it is refused, and counted, when all are set
      }
    }
  return drawn;
}

}  // namespace shardmark::workloads
