// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <charconv>
#include <optional>
#include <string_view>

namespace shardmark::reference {

/// Returns the number that `text` is from its first to its last character; empty when it is anything else.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Returns the shortest decimal that reads back as the same float: 0.01, not 0.009999999776482582.
inline double shortest_decimal(float value) {
  std::array<char, 32> text{};
  const char* const end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return *number_in<double>({text.data(), end});
}

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::number_in, reference::shortest_decimal;
}  // namespace shardmark
