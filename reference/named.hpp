// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "reference/error.hpp"

namespace shardmark {

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

}  // namespace shardmark
