// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "reference/json.hpp"

namespace shardmark {

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
