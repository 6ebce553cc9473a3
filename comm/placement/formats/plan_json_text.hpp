// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/error.hpp"
#include "reference/json.hpp"

namespace shardmark::placement {

/// Returns the value as a 64-bit integer; empty when it is anything else (1.0 and 2^63 too).
inline std::optional<std::int64_t> integer_in(const nlohmann::ordered_json& value) {
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > largest) return std::nullopt;
  return value.get<std::int64_t>();
}

/// Returns the value as a list of 64-bit integers; empty when it is anything else.
inline std::optional<std::vector<std::int64_t>> integers_in(const nlohmann::ordered_json& value) {
  if (!value.is_array()) return std::nullopt;
  std::vector<std::int64_t> list;
  for (const auto& element : value) {
    const auto integer = integer_in(element);
    if (!integer) return std::nullopt;
    list.push_back(*integer);
  }
  return list;
}

/// The functions below throw InputError where a file is not as it should be. `where` begins every message: the file,
/// then table and shard as far as they are known.

/// Throws unless it is an object with no other keys than these.
inline void expect_keys(const nlohmann::ordered_json& object, const std::string& where,
                        std::initializer_list<std::string_view> known) {
  if (!object.is_object()) throw InputError(where + ": expected a JSON object");
  for (const auto& [key, value] : object.items())
    if (std::ranges::find(known, key) == known.end())
      throw InputError(fmt::format("{}: unknown key '{}'; known: {}", where, key, fmt::join(known, ", ")));
}

inline const nlohmann::ordered_json& value_of(const nlohmann::ordered_json& object, const char* key,
                                              const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end()) throw InputError(fmt::format("{}: key '{}' is missing", where, key));
  return *found;
}

inline std::string text_of(const nlohmann::ordered_json& object, const char* key, const std::string& where) {
  const nlohmann::ordered_json& value = value_of(object, key, where);
  if (!value.is_string()) throw InputError(fmt::format("{}: '{}' must be a string", where, key));
  return value.get<std::string>();
}

inline std::int64_t whole_of(const nlohmann::ordered_json& object, const char* key, const std::string& where) {
  const auto value = integer_in(value_of(object, key, where));
  if (!value) throw InputError(fmt::format("{}: '{}' must be an integer of 64 bits", where, key));
  return *value;
}

inline int int_of(const nlohmann::ordered_json& object, const char* key, const std::string& where) {
  const auto value = integer_in(value_of(object, key, where));
  if (!value || *value < std::numeric_limits<int>::min() || *value > std::numeric_limits<int>::max())
    throw InputError(fmt::format("{}: '{}' must be an integer of 32 bits", where, key));
  return static_cast<int>(*value);
}

inline std::vector<std::int64_t> list_of(const nlohmann::ordered_json& object, const char* key, std::size_t length,
                                         const std::string& where) {
  const auto list = integers_in(value_of(object, key, where));
  if (!list || list->size() != length)
    throw InputError(fmt::format("{}: '{}' must be a list of {} integers", where, key, length));
  return *list;
}

}  // namespace shardmark::placement
