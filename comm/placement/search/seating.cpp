// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/search/seating.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace shardmark::placement {
namespace {

/// Returns the load of each rank without the table.
std::vector<double> loads_without(const SearchState& state, std::int64_t table, SeatOrder order) {
  const SearchProblem& problem = state.problem();
  std::vector<double> loads(static_cast<std::size_t>(problem.ranks()));
  for (std::size_t rank = 0; rank < loads.size(); ++rank) {
    const RankCosts& costs = state.costs(static_cast<int>(rank));
    loads[rank] = order == SeatOrder::seconds ? costs.seconds() : costs[RankCosts::memory];
  }
  const Placed& placed = state.placed(table);
  const OptionWork& work = problem.work(table, placed.option);
  for (std::size_t seat = 0; seat < placed.ranks.size(); ++seat)
    loads[static_cast<std::size_t>(placed.ranks[seat])] -=
        order == SeatOrder::seconds ? work.weights[seat] : work.seats[seat][RankSums::memory];
  return loads;
}

/// Returns all ranks, those with the least load first.
std::vector<int> by_load(std::span<const double> loads) {
  std::vector<int> ranks(loads.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  std::ranges::stable_sort(ranks, {}, [&](int rank) { return loads[static_cast<std::size_t>(rank)]; });
  return ranks;
}

/// Seats groups of so many seats on a node each: every group on the node whose lightest ranks that have no seat yet
/// have the least load together. in_order: on the first ranks of the node instead.
std::vector<int> on_nodes(const SearchProblem& problem, std::size_t seats, std::size_t together, bool in_order,
                          std::span<const double> loads) {
  std::vector<std::vector<int>> free(problem.nodes());  // ranks by node, in the order in which they get seats
  for (const int rank : by_load(loads)) free[problem.node_of(static_cast<std::size_t>(rank))].push_back(rank);
  if (in_order)
    for (auto& of_node : free) std::ranges::sort(of_node);
  const auto load = [&](const std::vector<int>& ranks) {
    if (ranks.size() < together) return std::numeric_limits<double>::infinity();
    double sum = 0.0;
    for (std::size_t k = 0; k < together; ++k) sum += loads[static_cast<std::size_t>(ranks[k])];
    return sum;
  };
  std::vector<double> of_node;
  for (const auto& ranks : free) of_node.push_back(load(ranks));
  std::vector<int> seated;
  while (seated.size() < seats) {
    const auto node = static_cast<std::size_t>(std::ranges::min_element(of_node) - of_node.begin());
    std::vector<int>& ranks = free[node];
    // Few rows may have fewer blocks than the node has ranks.
    const auto end = ranks.begin() + static_cast<std::ptrdiff_t>(std::min(together, seats - seated.size()));
    seated.insert(seated.end(), ranks.begin(), end);
    ranks.erase(ranks.begin(), end);
    of_node[node] = load(ranks);
  }
  return seated;
}

}  // namespace

std::vector<int> lightest(const SearchProblem& problem, std::int64_t table, int option, std::span<const double> loads) {
  const OptionWork& work = problem.work(table, option);
  const TableOption& of = problem.option(table, option);
  std::vector<int> seated(work.seats.size());
  if (of.together > 0)
    return on_nodes(problem, seated.size(), static_cast<std::size_t>(of.together), of.in_order, loads);
  if (of.in_order) {
    std::iota(seated.begin(), seated.end(), 0);
    return seated;
  }
  std::vector<int> ranks(loads.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  std::ranges::partial_sort(ranks, ranks.begin() + std::ssize(seated), [&](int a, int b) {
    const double of_a = loads[static_cast<std::size_t>(a)], of_b = loads[static_cast<std::size_t>(b)];
    return of_a < of_b || (of_a == of_b && a < b);
  });
  for (std::size_t k = 0; k < seated.size(); ++k) seated[static_cast<std::size_t>(work.heaviest[k])] = ranks[k];
  return seated;
}

std::vector<int> light_ranks(const SearchState& state, std::int64_t table, int option, SeatOrder order) {
  return lightest(state.problem(), table, option, loads_without(state, table, order));
}

std::vector<int> ranks_to_try(const SearchState& state) {
  const auto idle = [&](int rank) { return state.tables_on(rank).empty(); };
  const auto node_of = [&](int rank) { return state.problem().node_of(static_cast<std::size_t>(rank)); };
  std::vector<int> ranks;
  for (int rank = 0; rank < state.problem().ranks(); ++rank)
    if (ranks.empty() || !idle(rank) || !idle(ranks.back()) || node_of(rank) != node_of(ranks.back()))
      ranks.push_back(rank);
  if (std::ssize(ranks) <= ranks_tried) return ranks;
  const auto least = [&](const auto& cost) {
    std::vector<std::pair<double, int>> all;
    for (const int rank : ranks) all.emplace_back(cost(state.costs(rank)), rank);
    std::ranges::partial_sort(all, all.begin() + ranks_tried);
    std::vector<int> lightest;
    for (const auto& [load, rank] : std::span(all).first(ranks_tried)) lightest.push_back(rank);
    return lightest;
  };
  std::vector<int> light = least([](const RankCosts& costs) { return costs.seconds(); });
  if (state.problem().memory() != no_limit)
    std::ranges::copy(least([](const RankCosts& costs) { return costs[RankCosts::memory]; }),
                      std::back_inserter(light));
  return light;
}

}  // namespace shardmark::placement
