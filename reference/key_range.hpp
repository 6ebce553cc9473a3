// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace shardmark::reference {

/// Holds the ids that may name a row: consecutive integers, [0, rows) for most tables.
struct KeyRange {
  std::int64_t first = 0;
  std::uint64_t width = 0;  ///< last - first, so that a range may be all of the 2^64 integers

  constexpr KeyRange() = default;
  constexpr KeyRange(std::int64_t rows) : width(static_cast<std::uint64_t>(rows) - 1) {}  // NOLINT: of so many rows
  constexpr KeyRange(std::int64_t first_key, std::int64_t last_key)
      : first(first_key), width(static_cast<std::uint64_t>(last_key) - static_cast<std::uint64_t>(first_key)) {}

  static constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  static constexpr KeyRange all() { return {least, most}; }

  /// Returns how far behind the first key a key is, modulo 2^64.
  constexpr std::uint64_t place(std::int64_t key) const {
    return static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(first);
  }
  constexpr bool contains(std::int64_t key) const { return place(key) <= width; }
  /// Returns the key at this place, modulo the size of the range.
  constexpr std::int64_t key_at(std::uint64_t place) const {
    const std::uint64_t within = width == ~std::uint64_t{0} ? place : place % (width + 1);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(first) + within);
  }
  /// Returns the key itself, or the one that a key outside the range is folded to.
  constexpr std::int64_t folded(std::int64_t key) const { return key_at(place(key)); }
  constexpr std::int64_t last() const { return key_at(width); }
  /// Returns what a key outside it is outside of, in words.
  std::string text() const;

  bool operator==(const KeyRange&) const = default;
};

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::KeyRange;
}  // namespace shardmark
