// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/search/seating.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

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

/// Returns all ranks, or those of the node whose ranks have the least load together.
std::vector<int> candidates(const SearchProblem& problem, std::span<const double> loads, bool one_node) {
  std::vector<int> ranks(loads.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  if (!one_node) return ranks;
  std::vector<double> of_node(problem.nodes());
  for (std::size_t rank = 0; rank < loads.size(); ++rank) of_node[problem.node_of(rank)] += loads[rank];
  // The last node may have fewer ranks than the option has seats.
  const std::size_t whole = loads.size() / static_cast<std::size_t>(problem.node_size());
  const auto node =
      std::min_element(of_node.begin(), of_node.begin() + static_cast<std::ptrdiff_t>(whole)) - of_node.begin();
  std::erase_if(ranks,
                [&](int rank) { return std::cmp_not_equal(problem.node_of(static_cast<std::size_t>(rank)), node); });
  return ranks;
}

}  // namespace

std::vector<int> lightest(const SearchProblem& problem, std::int64_t table, int option, std::span<const double> loads) {
  const OptionWork& work = problem.work(table, option);
  std::vector<int> ranks = candidates(problem, loads, problem.option(table, option).one_node);
  if (problem.option(table, option).in_order) {
    ranks.resize(work.seats.size());
    return ranks;
  }
  const auto seats = static_cast<std::ptrdiff_t>(work.seats.size());
  std::ranges::partial_sort(ranks, ranks.begin() + seats, [&](int a, int b) {
    const double of_a = loads[static_cast<std::size_t>(a)], of_b = loads[static_cast<std::size_t>(b)];
    return of_a < of_b || (of_a == of_b && a < b);
  });
  std::vector<int> seated(work.seats.size());
  for (std::size_t k = 0; k < seated.size(); ++k) seated[static_cast<std::size_t>(work.heaviest[k])] = ranks[k];
  return seated;
}

std::vector<int> light_ranks(const SearchState& state, std::int64_t table, int option, SeatOrder order) {
  return lightest(state.problem(), table, option, loads_without(state, table, order));
}

std::vector<int> different_ranks(const SearchState& state) {
  const auto idle = [&](int rank) { return state.tables_on(rank).empty(); };
  const auto node_of = [&](int rank) { return state.problem().node_of(static_cast<std::size_t>(rank)); };
  std::vector<int> ranks;
  for (int rank = 0; rank < state.problem().ranks(); ++rank)
    if (ranks.empty() || !idle(rank) || !idle(ranks.back()) || node_of(rank) != node_of(ranks.back()))
      ranks.push_back(rank);
  return ranks;
}

}  // namespace shardmark::placement
