// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace shardmark::reference {

/// Returns the number that `text` is from its first to its last character; empty when it is anything else.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Returns the whole number that `text` is, also with a unit (8k, 2M: powers of 1000; 64Ki, 1Mi: of 1024) or an
/// exponent (1e4); empty when it is anything else, or above 2^53.
inline std::optional<std::int64_t> whole_number_in(std::string_view text) {
  if (const auto plain = number_in<std::int64_t>(text)) return plain;
  constexpr std::array<std::pair<std::string_view, double>, 10> units{{{"", 1.0},
                                                                       {"k", 1e3},
                                                                       {"K", 1e3},
                                                                       {"M", 1e6},
                                                                       {"G", 1e9},
                                                                       {"T", 1e12},
                                                                       {"Ki", 0x1p10},
                                                                       {"Mi", 0x1p20},
                                                                       {"Gi", 0x1p30},
                                                                       {"Ti", 0x1p40}}};
  const std::size_t digits = text.find_last_of("0123456789") + 1;
  const auto number = number_in<double>(text.substr(0, digits));
  for (const auto& [unit, factor] : units)
    if (number && text.substr(digits) == unit)
      if (const double value = *number * factor;
          value >= -0x1p53 && value <= 0x1p53 && value == static_cast<double>(static_cast<std::int64_t>(value)))
        return static_cast<std::int64_t>(value);
  return std::nullopt;
}

/// Returns the shortest decimal that reads back as the same float: 0.01, not 0.009999999776482582.
inline double shortest_decimal(float value) {
  std::array<char, 32> text{};
  const char* const end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return *number_in<double>({text.data(), end});
}

/// Returns the shortest text that reads back as the same number.
inline std::string text_of_number(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::number_in, reference::shortest_decimal, reference::whole_number_in;
}  // namespace shardmark
