// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "reference/error.hpp"

namespace shardmark::reference {

/// Returns the number of an enum's value, for arrays with an element for each.
template <class Enum>
constexpr std::size_t index_of(Enum value) {
  return static_cast<std::size_t>(value);
}

/// Is a value with a name that a user can give. Where a choice has more to it, its table holds a struct that derives
/// from this or has the same first members.
template <class Value>
struct Choice {
  std::string_view name;
  std::string_view description;
  Value value;
};

/// Returns the name in `valid` that was probably meant by `name`: the nearest in letters that are wrong, missing, too
/// many or swapped with their neighbour (Damerau 1964), no matter the case and whether words are joined by '-' or '_'.
/// Empty when more than a third of the letters differ.
std::string_view nearest_name(std::string_view name, const std::vector<std::string_view>& valid);

/// Returns "did you mean 'NAME'? " with the nearest name; empty when none is near.
std::string suggestion(std::string_view name, const std::vector<std::string_view>& valid);

/// Throws InputError that lists the valid names and the nearest of them.
[[noreturn]] void throw_unknown(std::string_view what, std::string_view name,
                                const std::vector<std::string_view>& valid);

/// Returns the entry of a table of named choices ({name, description, ...}) whose name is `name`. If there is none it
/// calls throw_unknown(); `what` names what is being chosen ("exchange", "planner", ...).
template <class Choices>
const auto& choice_named(const Choices& choices, std::string_view what, std::string_view name) {
  for (const auto& choice : choices) {
    if (choice.name == name) return choice;
  }
  std::vector<std::string_view> valid;
  for (const auto& choice : choices) valid.push_back(choice.name);
  throw_unknown(what, name, valid);
}

/// Holds the table of an enum and what its values are; a function choices_of(Enum) beside the enum returns it.
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

/// Returns the value of the enum with this name. Throws InputError as choice_named does.
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

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::Choice, reference::Choices, reference::HasChoices, reference::choice_named, reference::index_of,
    reference::name_of, reference::named, reference::nearest_name, reference::suggestion;
}  // namespace shardmark
