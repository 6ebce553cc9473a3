// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/traffic/table_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "reference/error.hpp"

namespace shardmark::placement {
namespace {

/// Counts the values of a sample's pooled embeddings from each of the tables.
std::vector<std::int64_t> weights_of(const std::vector<std::size_t>& chosen, const std::vector<Table>& tables,
                                     const std::vector<Feature>& features) {
  std::vector<std::int64_t> of_table(tables.size()), weights;
  for (const Feature& feature : features) {
    const auto t = static_cast<std::size_t>(feature.table);
    of_table[t] += tables[t].dim * bags_per_sample(feature);
  }
  for (const std::size_t t : chosen) weights.push_back(of_table[t]);
  return weights;
}

/// Returns where each of the groups of `count` tables ends.
std::vector<std::int64_t> ends_by_count(std::int64_t count, std::int64_t groups) {
  std::vector<std::int64_t> ends;
  for (std::int64_t g = 1; g <= groups; ++g) ends.push_back(g * (count / groups) + std::min(g, count % groups));
  return ends;
}

/// A group ends where all groups up to it have their share; every group has a table.
std::vector<std::int64_t> ends_by_weight(const std::vector<std::int64_t>& weights, std::int64_t groups) {
  const std::int64_t total = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  std::vector<std::int64_t> ends;
  std::int64_t before = 0;
  for (std::int64_t i = 1; i <= std::ssize(weights); ++i) {
    before += weights[i - 1];
    const std::int64_t done = std::ssize(ends) + 1;
    const bool full = before * groups >= done * total || std::ssize(weights) - i == groups - done;
    if (full && done < groups) ends.push_back(i);
  }
  ends.push_back(std::ssize(weights));
  return ends;
}

}  // namespace

std::vector<std::int64_t> group_of_tables(const TableGroups& wanted, const Plan& plan, const std::vector<Table>& tables,
                                          const std::vector<Feature>& features) {
  std::vector<std::size_t> sharded;
  for (std::size_t t = 0; t < tables.size(); ++t)
    if (!plan.tables[t].data_parallel) sharded.push_back(t);
  const auto count = std::ssize(sharded);
  const std::int64_t groups = wanted.groups == TableGroups::table ? std::max<std::int64_t>(count, 1) : wanted.groups;
  if (groups > std::max<std::int64_t>(count, 1))
    throw InputError(
        fmt::format("--groups {}: plan {} has {} tables that are not data-parallel; ask for as many groups "
                    "at most, or for table",
                    groups, plan.name, count));
  const auto ends = wanted.balance == GroupBalance::count
                        ? ends_by_count(count, groups)
                        : ends_by_weight(weights_of(sharded, tables, features), groups);
  std::vector<std::int64_t> group_of(tables.size(), groups - 1);
  for (std::int64_t i = 0; i < count; ++i) group_of[sharded[i]] = std::ranges::upper_bound(ends, i) - ends.begin();
  return group_of;
}

std::int64_t count_groups(const std::vector<std::int64_t>& group_of_table) {
  return std::ranges::max(group_of_table) + 1;
}

}  // namespace shardmark::placement
