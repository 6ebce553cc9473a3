// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/planner_settings.hpp"

#include <fmt/format.h>

#include <vector>

#include "reference/named.hpp"
#include "reference/number.hpp"

namespace shardmark::placement {
namespace {

template <class Number>
Number number_of(std::string_view planner, std::string_view name, std::string_view text, Number least) {
  const auto number = number_in<Number>(text);
  if (!number || !(*number >= least))
    throw InputError(
        fmt::format("planner '{}': {} must be a number of at least {}, not '{}'", planner, name, least, text));
  return *number;
}

}  // namespace

PlannerSettings::PlannerSettings(std::string_view planner, std::string_view text, std::span<const PlannerSetting> known)
    : planner_(planner) {
  for (const PlannerSetting& setting : known) values_.emplace(setting.name, setting.usual);
  while (!text.empty()) {
    const auto end = std::min(text.find(':'), text.size());
    const std::string_view said = text.substr(0, end);
    if (known.empty()) throw InputError(fmt::format("planner '{}' has no settings, such as '{}'", planner, said));
    const auto equals = said.find('=');
    if (equals == std::string_view::npos)
      throw InputError(fmt::format("planner '{}': '{}' is no setting; write {}:KEY=VALUE", planner, said, planner));
    choice_named(known, fmt::format("setting of planner '{}'", planner), said.substr(0, equals));
    values_.insert_or_assign(std::string(said.substr(0, equals)), std::string(said.substr(equals + 1)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string PlannerSettings::text(std::string_view name) const { return values_.find(name)->second; }

double PlannerSettings::number(std::string_view name, double least) const {
  return number_of(planner_, name, text(name), least);
}

std::int64_t PlannerSettings::whole(std::string_view name, std::int64_t least) const {
  return number_of(planner_, name, text(name), least);
}

std::optional<std::int64_t> PlannerSettings::maybe_whole(std::string_view name, std::int64_t least) const {
  if (text(name).empty()) return std::nullopt;
  return whole(name, least);
}

bool PlannerSettings::on(std::string_view name) const {
  const std::string said = text(name);
  if (said != "on" && said != "off")
    throw InputError(fmt::format("planner '{}': {} must be on or off, not '{}'", planner_, name, said));
  return said == "on";
}

}  // namespace shardmark::placement
