// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "reference/dynamic/admission.hpp"
#include "reference/named.hpp"

namespace shardmark::reference {

/// Selects which rows a dynamic table evicts at the end of a step. Each gives every row a score: where a bucket has
/// more rows than its share of the capacity (beyond_capacity), those of the lowest scores go, the smaller key first
/// where scores are equal. idle and l2 also evict rows whose score has expired.
enum class EvictionKind { none, idle, l2, lru, lfu };

inline constexpr std::array evictions{
    Choice<EvictionKind>{"none", "no row", EvictionKind::none},
    Choice<EvictionKind>{"idle", "idle:L, rows that L steps in a row have not used; score: the last step that did",
                         EvictionKind::idle},
    Choice<EvictionKind>{"l2", "l2:T, rows whose norm is below T; score: the norm", EvictionKind::l2},
    Choice<EvictionKind>{"lru", "beyond the capacity; score: the last step that used the row", EvictionKind::lru},
    Choice<EvictionKind>{"lfu", "beyond the capacity; score: uses since the row was admitted", EvictionKind::lfu},
};
constexpr auto choices_of(EvictionKind) { return Choices{"eviction", evictions}; }

struct Eviction {
  EvictionKind kind = EvictionKind::none;
  double threshold = 0.0;     ///< L of idle, T of l2
  std::int64_t capacity = 0;  ///< most rows of the table; 0: as many as come

  /// Returns whether rows may expire. They are looked for in the buckets of is_examined().
  constexpr bool expires() const { return kind == EvictionKind::idle || kind == EvictionKind::l2; }

  bool operator==(const Eviction&) const = default;
};

/// Returns what `text` names: none, idle:L, l2:T, lru, lfu. Throws InputError for anything else, for L that is no whole
/// number of steps and for T that is not above 0.
Eviction eviction_named(std::string_view text);
/// Returns the text that names it, without its capacity.
std::string text_of(const Eviction& eviction);

/// Throws InputError for lru and lfu without a capacity and none with one, and for a capacity below one row a bucket.
void check_capacity(const Eviction& eviction);
/// Returns what both give; capacity: 0 for none.
Eviction eviction_named(std::string_view text, std::int64_t capacity);

/// Says when and how often a row was used. Evicted, it is forgotten with the row.
struct RowUse {
  std::uint32_t last = 0;  ///< number of the latest step that used it, from 1
  std::uint32_t uses = 0;  ///< lookups of those steps since it was admitted, at most 2^32 - 1

  constexpr void add(std::int64_t step, std::int64_t more) {
    last = static_cast<std::uint32_t>(step);
    uses = add_saturated(uses, more, std::numeric_limits<std::uint32_t>::max());
  }
  bool operator==(const RowUse&) const = default;
};

/// Returns the sum of squares of a row, in double, in the order of its columns: a square of fp32 is exact there.
/// Values: anything with operator[] and size().
template <class Values>
constexpr double squared_norm(const Values& values, std::int64_t dim) {
  double sum = 0.0;
  for (std::int64_t c = 0; c < dim; ++c) sum += static_cast<double>(values[c]) * static_cast<double>(values[c]);
  return sum;
}

/// Returns the score of a row. norm(): its squared_norm, which is computed only where it is the score.
template <class Norm>
constexpr double eviction_score(EvictionKind kind, const RowUse& use, const Norm& norm) {
  switch (kind) {
    case EvictionKind::l2:
      return norm();
    case EvictionKind::lfu:
      return use.uses;
    default:
      return use.last;
  }
}

/// Returns whether a row of this score goes at the end of this step, whatever the capacity is.
constexpr bool expired(const Eviction& eviction, double score, std::int64_t step) {
  if (eviction.kind == EvictionKind::idle) return static_cast<double>(step) - score > eviction.threshold;
  if (eviction.kind == EvictionKind::l2) return score < eviction.threshold * eviction.threshold;
  return false;
}

/// Returns whether expired rows of a bucket are looked for at the end of this step: of each bucket every 64 steps, so
/// that no step reads a whole table.
constexpr bool is_examined(std::int64_t bucket, std::int64_t step) { return (bucket - step) % 64 == 0; }

/// Returns how many of its rows a bucket is to lose for its share of the capacity. One that has more rows than that
/// makes room for a sixteenth of it, so that it is not searched for victims in every step.
constexpr std::int64_t beyond_capacity(const Eviction& eviction, std::int64_t bucket, std::int64_t rows) {
  const std::int64_t most = bucket_capacity(eviction.capacity, bucket);
  return eviction.capacity > 0 && rows > most ? rows - (most - most / 16) : 0;
}

/// Returns whether a row may not go at the end of this step: a later one that is in flight has brought it. Steps are
/// brought and ended in order.
constexpr bool is_pinned(const RowUse& use, std::int64_t step) { return use.last > step; }

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::Eviction, reference::EvictionKind, reference::RowUse, reference::check_capacity, reference::evictions,
    reference::text_of;
}  // namespace shardmark
