// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "reference/number.hpp"

namespace shardmark::reference {

/// Returns the bytes that `text` says: 64KiB, 1.5 GB, 80g; the units of whole_number_in(), in any case, with a B or
/// without.
inline std::optional<std::int64_t> bytes_in(std::string_view text) {
  const std::size_t digits = text.find_last_of("0123456789") + 1;
  std::string plain(text.substr(0, digits));
  for (const char sign : text.substr(digits))
    if (sign != ' ') plain += sign == 'I' || sign == 'i' ? 'i' : static_cast<char>(sign & ~0x20);  // upper case
  if (plain.ends_with('B')) plain.pop_back();
  return whole_number_in(plain);
}

/// Returns the size as text, "512", "64KiB" or "3KB": exact, with the largest unit that divides it, of those of 1024 if
/// any does.
inline std::string size_text(std::int64_t bytes) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 6> units{
      {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1000000000}, {"MB", 1000000}, {"KB", 1000}}};
  for (const auto& [unit, size] : units)
    if (bytes > 0 && bytes % size == 0) return std::to_string(bytes / size) + std::string(unit);
  return std::to_string(bytes);
}

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::bytes_in, reference::size_text;
}  // namespace shardmark
