// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "reference/error.hpp"

namespace shardmark {

/// The number of an enum's value, for arrays with an element for each.
template <class Enum>
constexpr std::size_t index_of(Enum value) {
  return static_cast<std::size_t>(value);
}

/// A value with a name that a user can say. Where a choice has more to it, its table holds a struct that derives from
/// this or has the same first members.
template <class Value>
struct Choice {
  std::string_view name;
  std::string_view description;
  Value value;
};

/// The entry of a table of named choices ({name, description, ...}) whose name is `name`.
/// Throws InputError that prints the valid names; `what` says what is being chosen ("exchange", "planner", ...).
template <class Choices>
const auto& choice_named(const Choices& choices, std::string_view what, std::string_view name) {
  for (const auto& choice : choices) {
    if (choice.name == name) return choice;
  }
  std::string valid;
  for (const auto& choice : choices) valid += (valid.empty() ? "" : ", ") + std::string(choice.name);
  throw InputError("unknown " + std::string(what) + " '" + std::string(name) + "'; valid: " + valid);
}

/// The table of an enum and what its values are, returned by a function choices_of(Enum) beside the enum.
template <class Table>
struct Choices {
  std::string_view what;
  const Table& table;
};
template <class Table>
Choices(const char*, const Table&) -> Choices<Table>;

template <class Enum>
concept HasChoices = requires(Enum value) {
  choices_of(value).table;
};

/// The value of the enum with this name. Throws InputError as choice_named does.
template <HasChoices Enum>
Enum named(std::string_view name) {
  const auto choices = choices_of(Enum{});
  return choice_named(choices.table, choices.what, name).value;
}

template <HasChoices Enum>
constexpr std::string_view name_of(Enum value) {
  const auto choices = choices_of(Enum{});
  for (const auto& choice : choices.table)
    if (choice.value == value) return choice.name;
  return {};
}

}  // namespace shardmark
