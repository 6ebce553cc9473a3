// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "comm/placement/plan.hpp"
#include "reference/named.hpp"

namespace shardmark::placement {

/// Says what groups of tables have in equal measure.
enum class GroupBalance { count, bytes };

inline constexpr std::array group_balances{
    Choice<GroupBalance>{"count", "tables; the first groups have one more (HybridBackend)", GroupBalance::count},
    Choice<GroupBalance>{"bytes", "bytes of the vectors of a sample", GroupBalance::bytes},
};
constexpr auto choices_of(GroupBalance) { return Choices{"group balance", group_balances}; }

struct TableGroups {
  std::int64_t groups = 1;                  ///< a number, or
  static constexpr std::int64_t table = 0;  ///< a group per table
  GroupBalance balance = GroupBalance::count;

  bool operator==(const TableGroups&) const = default;
};

/// Returns the group of each table: the tables that are not data-parallel, in their order, in contiguous groups (26 in
/// 4: 7, 7, 6, 6). Data-parallel tables send no rows and are in the last one. Throws InputError when there are fewer
/// tables than groups.
std::vector<std::int64_t> group_of_tables(const TableGroups& wanted, const Plan& plan, const std::vector<Table>& tables,
                                          const std::vector<Feature>& features);

/// Returns how many groups that are.
std::int64_t count_groups(const std::vector<std::int64_t>& group_of_table);

}  // namespace shardmark::placement
