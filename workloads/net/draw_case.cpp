// SPDX-License-Identifier: Apache-2.0
#include "workloads/net/draw_case.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "comm/placement/formats/plan_json.hpp"
#include "comm/placement/planner.hpp"
#include "reference/number.hpp"
#include "workloads/cases/case.hpp"
#include "workloads/cases/options.hpp"
#include "workloads/net/coverage.hpp"
#include "workloads/net/draw_workload.hpp"
#include "workloads/net/net_setup.hpp"

namespace shardmark::workloads {
namespace {

using Json = nlohmann::ordered_json;

std::string draw_whole(Draw& draw, const NumberRule& rule) {
  const auto least = static_cast<std::int64_t>(rule.least) + (rule.above ? 1 : 0);
  return std::to_string(least + (draw.chance(0.7) ? draw.whole(0, 3) : draw.log_whole(1, 64)));
}

/// Draws a fraction of what is usual, or of 1 where that is 0: an optimizer's numbers beyond it make rows grow without
/// bound.
std::string draw_real(Draw& draw, const NumberRule& rule, const Json& usual) {
  const double number = usual.is_number() && usual.get<double>() > 0.0 ? usual.get<double>() : 0.5;
  const double factor = draw.of({1.0, 0.5, 0.25, 0.125, rule.least == 0.0 && !rule.above ? 0.0 : 1.0});
  return fmt::format("{:g}", std::clamp(number * factor, rule.least, rule.most));
}

/// Returns how often an option is given, where it may be of use.
double chance_of(const Option& option) {
  if (option.name == "transfer" || option.name == "exchange" || option.name == "dense") return 0.6;
  if (option.name == "async") return 0.3;
  if (option.valid == "a file") return 1.0;                                        // the files fit the workload
  if (option.name == "dtype" || option.name == "stochastic_rounding") return 0.2;  // of use together alone
  switch (option.group) {
    case OptionGroup::movement:
      return 0.25;
    case OptionGroup::of_storage:
    case OptionGroup::dense:
    case OptionGroup::data:
      return 0.3;
    case OptionGroup::run:
      return 0.2;
    default:
      return 0.05;
  }
}

/// Returns whether the use of other options, which therefore come behind it, depends on this one.
bool decides_use(const Option& option) {
  return option.name == "async" || option.name == "storage" || option.name == "dense" || option.name == "data";
}

}  // namespace

bool is_drawn(const Option& option) { return option.group != OptionGroup::schedule && option.name != "fault"; }

std::string draw_value(Draw& draw, const Option& option, const Json& usual, const NetFiles& files) {
  if (!option.values.empty()) {
    std::string name = draw.of(option.values).name;
    const auto colon = name.find(':');  // its number may be another
    const auto behind = std::min(name.find(':', std::min(colon, name.size() - 1) + 1), name.size());
    if (colon != name.npos && draw.chance(0.5))
      name = fmt::format("{}:{}{}", name.substr(0, colon), draw.whole(1, 5), name.substr(behind));
    return name;
  }
  if (const auto of_option = files.find(option.name); of_option != files.end()) return draw.of(of_option->second);
  if (!option.examples.empty()) return std::string(draw.of(option.examples));
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
  Case config;
  Json drawn = Json::object();
  for (const bool first : {true, false})
    for (const Option& option : options()) {
      if (!is_drawn(option) || decides_use(option) != first || !draw.chance(chance_of(option))) continue;
      if (option.valid == "a file" && !files.contains(option.name)) continue;
      if (!first && option.get && !has_use(option, run)) continue;
      if (option.name.starts_with("async_") && !config.async.on()) continue;
      if (option.name == "staleness_bound" && !config.async.looks_up()) continue;
      const std::string value = draw_value(draw, option, option.get ? option.get(run, config) : Json(), files);
      drawn[option.name] = value;
      try {
        option.set(run, config, value);
        if (option.name == "storage") run = with_storage(std::move(run), config.storage);
      } catch (const InputError&) {  // it is refused, and counted, when all are set
      }
    }
  return drawn;
}

namespace {

using Json = nlohmann::ordered_json;

constexpr int most_repairs = 12, most_draws = 30;

const std::string drawn_plan = "drawn";

RankGroup draw_group(Draw& draw, const NetConditions& conditions) {
  std::map<int, std::vector<RankGroup>> by_ranks;
  for (const auto& [group, facts] : conditions.groups) by_ranks[group.first].push_back(group);
  const int most = by_ranks.rbegin()->first;
  const int ranks = draw.chance(0.3) ? std::min(2, most) : static_cast<int>(draw.whole(1, most));
  const auto& groups = by_ranks.at(ranks);
  return draw.chance(0.6) ? groups.front() : draw.of(groups);
}

/// Returns the tables as its options make them, where these are not refused.
std::vector<Table> tables_of(const NetCase& one) {
  RunOptions run;
  run.workload = workload_of(one);
  std::vector<Case> cases(1);
  try {
    set_options(run, cases, given_options(one));
  } catch (const InputError&) {
  }
  return with_storage(run, cases.front().storage).workload.tables;
}

/// Draws a planner, or a plan that none would make.
void draw_placement(Draw& draw, const Json& fixed, NetCase& one) {
  if (fixed.contains("plan") && fixed["plan"] != drawn_plan) {
    one.plan = fixed["plan"];
    return;
  }
  if (!fixed.contains("plan") && draw.chance(0.7)) {
    one.plan = draw.of(placement::planners).name;
    return;
  }
  const std::vector<Table> tables = tables_of(one);
  one.plan = Json::parse(placement::plan_to_json(draw_plan(draw, tables, one.ranks), tables));
}

NetCase draw_once(Draw& draw, std::uint64_t number, const NetConditions& conditions) {
  NetCase one{.number = number, .threads = conditions.threads};
  std::tie(one.ranks, one.leaders) = draw_group(draw, conditions);
  one.steps = draw.log_whole(1, 7);
  one.seed = static_cast<std::uint64_t>(draw.whole(1, 1000));
  NetFiles files = conditions.files;
  if (files.contains("data") && (conditions.fixed.contains("data") || draw.chance(0.12))) {
    one.workload = draw_criteo_workload(draw);
  } else {
    one.workload = draw_workload(draw, one.ranks);
    files.erase("data");
  }
  one.options = draw_options(draw, one.workload, files);
  one.options.update(conditions.fixed);
  one.options.erase("plan");
  draw_placement(draw, conditions.fixed, one);
  return one;
}

/// Returns the options that the message names; all where it names none.
std::vector<std::string> options_in(const std::string& message, const NetCase& one, const Json& fixed) {
  std::vector<std::string> named, all;
  for (const auto& each : given_options(one)) {
    const std::string name(each.option->name), &value = each.values.front();
    if (fixed.contains(name)) continue;
    all.push_back(name);
    if (message.find(name) != message.npos || message.find(each.where) != message.npos ||
        (!each.option->values.empty() && message.find(value) != message.npos))
      named.push_back(name);
  }
  return named.empty() ? all : named;
}

/// Takes options away that are of no use without others that have been.
void drop_unused(NetCase& one, const Json& fixed) {
  RunOptions run;
  run.workload = workload_of(one);
  Case config;
  for (const GivenOption& each : given_options(one)) {
    try {
      each.option->set(run, config, each.values.front());
    } catch (const InputError&) {  // it is refused later
    }
  }
  run = with_storage(std::move(run), config.storage);
  for (const GivenOption& each : given_options(one)) {
    const std::string name(each.option->name);
    const bool unused = (each.option->get && !has_use(*each.option, run)) ||
                        (name.starts_with("async_") && !config.async.on()) ||
                        (name == "staleness_bound" && !config.async.looks_up());
    if (unused && !fixed.contains(name)) one.options.erase(name);
  }
}

/// Changes a refused case: draws its placement again, or drops or draws again an option that the message names.
void repair(Draw& draw, const std::string& message, const NetConditions& conditions, NetCase& one) {
  const bool of_plan = message.starts_with("plan") || message.find("table") != message.npos;
  const auto options = options_in(message, one, conditions.fixed);
  if (options.empty() || (of_plan && draw.chance(0.4)))
    draw_placement(draw, conditions.fixed, one);
  else if (const std::string& name = draw.of(options); draw.chance(0.6))
    one.options.erase(name);
  else
    one.options[name] = draw_value(draw, choice_named(workloads::options(), "option", name), Json(), conditions.files);
  drop_unused(one, conditions.fixed);
}

}  // namespace

void resolve(NetCase& one, const NetConditions& conditions) {
  const GroupFacts& facts = conditions.groups.at({one.ranks, one.leaders});
  const CaseSetup setup = set_up(one, facts.pools);
  const auto require_usable = [&](const std::string& choice) {
    if (const auto why = facts.unusable.find(choice); why != facts.unusable.end())
      throw InputError(fmt::format("{}: {}", choice, why->second));
  };
  require_usable(fmt::format("exchange {}", setup.config().exchange.choice->name));
  require_usable(fmt::format("dedup {}", name_of(setup.config().movement.dedup)));
  if (!one.plan.is_string()) return;
  one.planner = one.plan.get<std::string>();
  one.plan = Json::parse(placement::plan_to_json(setup.planned().plan, setup.planned().options.workload.tables));
}

std::optional<NetCase> draw_case(std::uint64_t number, const NetConditions& conditions, Refusals& refusals) {
  Draw draw(number);
  for (int draws = 0; draws < most_draws; ++draws) {
    NetCase one = draw_once(draw, number, conditions);
    for (int repairs = 0; repairs < most_repairs; ++repairs) {
      try {
        resolve(one, conditions);
        return one;
      } catch (const InputError& error) {
        refusals.add(one, error.what());
        repair(draw, error.what(), conditions, one);
      }
    }
  }
  return {};
}

bool fix_values(std::uint64_t number, const std::vector<std::string>& values, NetConditions& conditions) {
  constexpr int tries = 100;
  Draw draw(number);
  conditions.fixed = Json::object();
  for (const std::string& each : values) {
    const std::string name = each.substr(0, each.find('=')), wanted = each.substr(each.find('=') + 1);
    if (name == "plan") {
      conditions.fixed[name] = wanted;
      continue;
    }
    const auto option = std::ranges::find(options(), name, &Option::name);
    if (option == options().end()) return false;
    const bool named = std::ranges::find(option->values, wanted, &NamedValue::name) != option->values.end();
    std::string value = named ? wanted : "";
    for (int i = 0; i < tries && value.empty(); ++i)
      if (std::string drawn = draw_value(draw, *option, Json(), conditions.files);
          value_class(*option, drawn) == wanted)
        value = std::move(drawn);
    if (value.empty()) return false;
    conditions.fixed[name] = value;
  }
  return true;
}

}  // namespace shardmark::workloads
