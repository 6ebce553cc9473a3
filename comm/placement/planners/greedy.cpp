// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/planners/greedy.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "comm/placement/planners/table_size.hpp"

namespace shardmark::placement {
namespace {

/// Places the costliest tables first. costs: [tables]
std::vector<TablePlacement> longest_first(std::span<const Table> tables, const std::vector<double>& costs, int ranks) {
  std::vector<std::size_t> order(tables.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t t) { return costs[t]; });

  using Load = std::pair<double, int>;  // cost, rank
  std::priority_queue<Load, std::vector<Load>, std::greater<>> least;
  for (int rank = 0; rank < ranks; ++rank) least.emplace(0.0, rank);
  std::vector<TablePlacement> placements(tables.size());
  for (const std::size_t t : order) {
    const auto [cost, rank] = least.top();
    least.pop();
    placements[t].shards = {whole(tables[t], rank)};
    least.emplace(cost + costs[t], rank);
  }
  return placements;
}

/// Returns by table the columns x the sum of what each of its features counts for.
template <class Counts>
std::vector<double> per_column(std::span<const Table> tables, std::span<const Feature> features, const Counts& counts) {
  std::vector<double> costs(tables.size());
  for (const Feature& feature : features)
    costs[feature.table] += static_cast<double>(tables[feature.table].dim) * counts(feature);
  return costs;
}

double ids(const Feature& feature) { return static_cast<double>(feature.hotness); }

}  // namespace

std::vector<TablePlacement> place_size_greedy(std::span<const Table> tables, std::span<const Feature>,
                                              const PlanRequest& request) {
  std::vector<double> costs;
  for (const Table& table : tables) costs.push_back(static_cast<double>(elements_of(table)));
  return longest_first(tables, costs, request.ranks);
}

std::vector<TablePlacement> place_dim_greedy(std::span<const Table> tables, std::span<const Feature> features,
                                             const PlanRequest& request) {
  return longest_first(tables, per_column(tables, features, [](const Feature&) { return 1.0; }), request.ranks);
}

std::vector<TablePlacement> place_lookup_greedy(std::span<const Table> tables, std::span<const Feature> features,
                                                const PlanRequest& request) {
  return longest_first(tables, per_column(tables, features, ids), request.ranks);
}

std::vector<TablePlacement> place_size_lookup_greedy(std::span<const Table> tables, std::span<const Feature> features,
                                                     const PlanRequest& request) {
  std::vector<double> costs = per_column(tables, features, ids);
  for (std::size_t t = 0; t < tables.size(); ++t) costs[t] *= std::log10(static_cast<double>(tables[t].rows));
  return longest_first(tables, costs, request.ranks);
}

}  // namespace shardmark::placement
