// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "reference/error.hpp"

namespace shardmark {

/// Parses `text`. Throws InputError naming `origin` when it is no JSON or an object repeats a key.
inline nlohmann::ordered_json parse_json(std::string_view text, std::string_view origin) {
  using Json = nlohmann::ordered_json;
  std::vector<std::set<std::string>> open_objects;
  const auto refuse_repeated_keys = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == Json::parse_event_t::object_end) open_objects.pop_back();
    if (event == Json::parse_event_t::key && !open_objects.back().insert(value.get<std::string>()).second)
      throw InputError(fmt::format("{}: key {} comes twice in one object", origin, value.dump()));
    return true;
  };
  try {
    return Json::parse(text, refuse_repeated_keys);
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: not valid JSON: {}", origin, error.what()));
  }
}

/// The value as a 64-bit integer; empty when it is anything else (1.0 and 2^63 too).
inline std::optional<std::int64_t> integer_in(const nlohmann::ordered_json& value) {
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > largest) return std::nullopt;
  return value.get<std::int64_t>();
}

/// The value as a list of 64-bit integers; empty when it is anything else.
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

}  // namespace shardmark
