// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "reference/dynamic/dynamic_rules.hpp"
#include "reference/number.hpp"
#include "workloads/cases/case.hpp"
#include "workloads/cases/option_table.hpp"
#include "workloads/cases/options.hpp"

namespace shardmark::workloads {

namespace option_values {

template <class T>
concept Number = (std::integral<T> || std::floating_point<T>)&&!std::same_as<T, bool>;

inline void read(const std::string& text, const NumberRule&, std::string& value) { value = text; }
inline void read(const std::string& text, const NumberRule&, comm::NamedExchange& value) {
  value = comm::exchange_named(text);
}
inline void read(const std::string& text, const NumberRule&, StagePool& value) { value = stage_pool_named(text); }
inline void read(const std::string& text, const NumberRule&, Admission& value) {
  value = reference::admission_named(text);
}
inline void read(const std::string& text, const NumberRule&, Eviction& value) {
  const std::int64_t capacity = value.capacity;
  value = reference::eviction_named(text);
  value.capacity = capacity;
}
template <HasChoices Enum>
void read(const std::string& text, const NumberRule&, Enum& value) {
  value = named<Enum>(text);
}
inline void read(const std::string& text, const NumberRule&, bool& value) {
  if (text != "true" && text != "false") throw InputError(fmt::format("'{}' is not true or false", text));
  value = text == "true";
}
template <Number T>
void read(const std::string& text, const NumberRule& rule, T& value) {
  if (!rule.word.empty() && text == rule.word) {
    value = {};
    return;
  }
  const auto number = [&]() -> std::optional<T> {
    if constexpr (std::same_as<T, std::int64_t>)
      return whole_number_in(text);
    else
      return number_in<T>(text);
  }();
  const auto size = number ? static_cast<double>(*number) : NAN;
  if (!std::isfinite(size) || size < rule.least || size > rule.most || (rule.above && size == rule.least))
    throw InputError(fmt::format("'{}' is not {}", text, rule.text()));
  value = *number;
}
/// Reads a list: numbers with commas between them, or the rule's word for an empty one.
inline void read(const std::string& text, const NumberRule& rule, std::vector<std::int64_t>& value) {
  value.clear();
  if (text == rule.word) return;
  for (std::size_t begin = 0, comma = 0; comma != text.npos; begin = comma + 1) {
    comma = text.find(',', begin);
    const auto number = number_in<std::int64_t>(std::string_view(text).substr(begin, comma - begin));
    if (!number || static_cast<double>(*number) < rule.least)
      throw InputError(fmt::format("'{}' is not {}", text, rule.list_text()));
    value.push_back(*number);
  }
}
inline void read(const std::string& text, const NumberRule&, Seconds& value) { value = seconds_in(text); }
template <class T>
void read(const std::string& text, const NumberRule& rule, std::optional<T>& value) {
  if (text == rule.word) return value.reset();
  read(text, rule, value.emplace());
}

using Json = nlohmann::ordered_json;

inline Json json_of(const std::string& value, const NumberRule&) { return value; }
inline Json json_of(const comm::NamedExchange& value, const NumberRule&) { return value.name(); }
inline Json json_of(const StagePool& value, const NumberRule&) { return value.name(); }
inline Json json_of(const Admission& value, const NumberRule&) { return text_of(value); }
inline Json json_of(const Eviction& value, const NumberRule&) { return text_of(value); }
inline Json json_of(bool value, const NumberRule&) { return value; }
inline Json json_of(const std::vector<std::int64_t>& value, const NumberRule& rule) {
  return value.empty() ? Json(rule.word) : Json(fmt::format("{}", fmt::join(value, ",")));
}
template <HasChoices Enum>
Json json_of(Enum value, const NumberRule&) {
  return name_of(value);
}
template <Number T>
Json json_of(T value, const NumberRule& rule) {
  if (!rule.word.empty() && value == T{}) return rule.word;
  if constexpr (std::same_as<T, float>)
    return shortest_decimal(value);
  else
    return value;
}
inline Json json_of(Seconds value, const NumberRule&) { return value.count(); }
template <class T>
Json json_of(const std::optional<T>& value, const NumberRule& rule) {
  return value ? json_of(*value, NumberRule{}) : Json(rule.word);  // 0 is a number here
}

/// Names the number type that a field of type T or optional<T> holds.
template <class T>
struct OptionalOf {
  using type = T;
};
template <class T>
struct OptionalOf<std::optional<T>> {
  using type = T;
};

/// Returns the text of an admission or an eviction, with numbers where it has some.
inline std::string with_usual_numbers(AdmissionKind kind) {
  return text_of(Admission{.kind = kind, .uses = 2, .false_positives = 0.01});
}
inline std::string with_usual_numbers(EvictionKind kind) {
  return text_of(Eviction{.kind = kind, .threshold = kind == EvictionKind::idle ? 1000.0 : 0.5});
}

/// Sets which values are valid, by the type of the field.
template <class T>
void say_valid(const NumberRule& rule, Option& option) {
  option.value_name = "NAME";
  if constexpr (HasChoices<T>) {
    option.what = choices_of(T{}).what;
    for (const auto& choice : choices_of(T{}).table)
      option.values.push_back({std::string(choice.name), choice.description});
  } else if constexpr (std::same_as<T, comm::NamedExchange>) {
    option.what = "exchange";
    for (const comm::NamedExchange& each : comm::all_exchanges())
      option.values.push_back({each.name(), each.choice->description});
  } else if constexpr (std::same_as<T, StagePool>) {
    option.what = choices_of(PoolKind{}).what;
    for (const auto& kind : pool_kinds) option.values.push_back({stage_pool_named(kind.name).name(), kind.description});
  } else if constexpr (std::same_as<T, Admission> || std::same_as<T, Eviction>) {
    option.what = choices_of(decltype(T{}.kind){}).what;
    option.value_name = "NAME[:X]";
    for (const auto& choice : choices_of(decltype(T{}.kind){}).table)
      option.values.push_back({with_usual_numbers(choice.value), choice.description});
  } else if constexpr (std::same_as<T, bool>) {
    option.value_name = "true|false";
    option.valid = "true, false";
  } else if constexpr (std::same_as<T, std::string>) {
    option.value_name = "FILE";
    option.valid = "a file";
  } else if constexpr (std::same_as<T, std::vector<std::int64_t>>) {
    option.value_name = "N,...";
    option.valid = fmt::format("{} or numbers such as 8,16", rule.word);
    option.number = NumberOption{.rule = rule, .whole = true, .list = true};
  } else if constexpr (std::same_as<T, std::optional<Seconds>>) {
    option.value_name = "TIME";
    option.valid = fmt::format("{} or a duration such as 90s or 2m", rule.word);
  } else {
    constexpr bool whole = std::integral<typename OptionalOf<T>::type>;
    option.value_name = whole ? "N" : "X";
    option.valid = rule.text();
    option.number = NumberOption{.rule = rule, .whole = whole};
  }
  for (const NamedValue& value : option.values) option.valid += (option.valid.empty() ? "" : ", ") + value.name;
}

/// Says whether a Case has the struct: compare tries several values of its members.
template <class Owner>
constexpr bool is_of_case =
    std::same_as<Owner, Case> || std::same_as<Owner, placement::Movement> || std::same_as<Owner, WireTypes> ||
    std::same_as<Owner, placement::TableGroups> || std::same_as<Owner, Async>;

/// Calls `visit` with each struct of the type `Owner` that a case has: its Movement, all its tables' Optimizers, ...
template <class Owner, class Run, class How, class Visit>
void for_each_owner(Run& run, How& config, const Visit& visit) {
  if constexpr (std::same_as<Owner, Case>) visit(config);
  if constexpr (std::same_as<Owner, placement::Movement>) visit(config.movement);
  if constexpr (std::same_as<Owner, WireTypes>) visit(config.movement.wire);
  if constexpr (std::same_as<Owner, placement::TableGroups>) visit(config.groups);
  if constexpr (std::same_as<Owner, Async>) visit(config.async);
  if constexpr (std::same_as<Owner, RunOptions>) visit(run);
  if constexpr (std::same_as<Owner, DataOptions>) visit(run.data);
  if constexpr (std::same_as<Owner, DenseOptions>) visit(run.dense);
  if constexpr (std::same_as<Owner, Workload>) visit(run.workload);
  if constexpr (std::same_as<Owner, IdSpec>) visit(run.workload.ids);
  if constexpr (std::same_as<Owner, Feature>)
    for (auto& feature : run.workload.features) visit(feature);
  for (auto& table : run.workload.tables) {
    if constexpr (std::same_as<Owner, Table>) visit(table);
    if constexpr (std::same_as<Owner, Optimizer>) visit(table.optimizer);
    if constexpr (std::same_as<Owner, DynamicRules>) visit(table.dynamic);
    if constexpr (std::same_as<Owner, Eviction>) visit(table.dynamic.eviction);
    if constexpr (std::same_as<Owner, TensorTrain>) visit(table.tensor_train);
    if constexpr (std::same_as<Owner, RowCache>) visit(table.tensor_train.cache);
  }
}

}  // namespace option_values

/// Makes an entry of the table: the member `field` wherever a case has it, such as in every table.
template <class T, class Owner>
Option option_of(OptionGroup group, std::string_view name, std::string_view description, T Owner::*field,
                 NumberRule rule = {}) {
  using option_values::Json;
  Option option{.name = name, .description = description, .group = group, .several = option_values::is_of_case<Owner>};
  option_values::say_valid<T>(rule, option);
  option.set = [=](RunOptions& run, Case& config, const std::string& text) {
    option_values::for_each_owner<Owner>(run, config,
                                         [&](Owner& owner) { option_values::read(text, rule, owner.*field); });
  };
  option.get = [=](const RunOptions& run, const Case& config) {
    Json values = Json::array();
    option_values::for_each_owner<Owner>(run, config, [&](const Owner& owner) {
      Json value = option_values::json_of(owner.*field, rule);
      if (std::ranges::find(values, value) == values.end()) values.push_back(std::move(value));
    });
    return values.size() == 1 ? Json(values.front()) : values;
  };
  return option;
}

}  // namespace shardmark::workloads
