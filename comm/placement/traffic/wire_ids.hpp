// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "comm/placement/plan.hpp"
#include "reference/named.hpp"

namespace shardmark::placement {

/// Says which type is requested for the numbers of rows on their way to the owners; IdType is the type that results.
enum class WireIds { automatic, int64 };
enum class IdType { int32, int64 };

inline constexpr std::array wire_ids{
    Choice<WireIds>{"auto", "int32 when no shard has ids above 2^31 or of rows -1, else int64", WireIds::automatic},
    Choice<WireIds>{"int64", "always int64", WireIds::int64},
};
constexpr auto choices_of(WireIds) { return Choices{"wire ids", wire_ids}; }

inline constexpr std::array id_types{
    Choice<IdType>{"int32", "4 bytes an id", IdType::int32},
    Choice<IdType>{"int64", "8 bytes an id", IdType::int64},
};
constexpr auto choices_of(IdType) { return Choices{"type of ids", id_types}; }
constexpr std::int64_t bytes_of(IdType type) { return type == IdType::int32 ? 4 : 8; }

/// Returns one type for the whole plan, so that all ranks decide alike. Ids travel as local rows of a shard, or as
/// keys; ids of replicated rows, which stay at home, are written in the same type. The last of 2^31 rows has the
/// largest int32 for its number.
inline IdType id_type(WireIds requested, const Plan& plan, std::span<const Table> tables) {
  constexpr std::int64_t most_rows = std::int64_t{1} << 31;
  bool fit = requested == WireIds::automatic;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const TablePlacement& placement = plan.tables[t];
    fit &= replicated_rows(placement, tables[t]).count() <= most_rows;
    fit &= std::ranges::all_of(placement.shards, [&](const Shard& shard) {
      const HeldRows held(shard.rows, tables[t], static_cast<std::int64_t>(t));
      return !held.any_key && held.most_ids() <= most_rows;
    });
  }
  return fit ? IdType::int32 : IdType::int64;
}

}  // namespace shardmark::placement
