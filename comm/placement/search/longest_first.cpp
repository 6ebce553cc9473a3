// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/search/longest_first.hpp"

#include <algorithm>
#include <numeric>

namespace shardmark::placement {
namespace {

double load_of_seat(const OptionWork& work, std::size_t seat, SeatOrder order) {
  return order == SeatOrder::seconds ? work.weights[seat] : work.seats[seat][RankSums::memory];
}

double heaviest_load(const OptionWork& work, SeatOrder order) {
  double most = 0.0;
  for (std::size_t seat = 0; seat < work.seats.size(); ++seat) most = std::max(most, load_of_seat(work, seat, order));
  return most;
}

/// Adds what seats that are on a node together are to its other ranks.
void add_beside(const SearchProblem& problem, int together, double seconds, std::span<const int> seats,
                std::vector<double>& loads) {
  if (seconds == 0.0) return;
  const auto add = [&](int rank, double more) { loads[static_cast<std::size_t>(rank)] += more; };
  const Nodes& nodes = problem.step().nodes;
  for (std::size_t group = 0; group < seats.size(); group += static_cast<std::size_t>(together)) {
    for (const int rank : nodes.ranks_of(nodes.of(seats[group]))) add(rank, seconds);
    const std::size_t of_group = std::min(static_cast<std::size_t>(together), seats.size() - group);
    for (const int seat : seats.subspan(group, of_group)) add(seat, -seconds);
  }
}

}  // namespace

std::vector<Placed> longest_first(const SearchProblem& problem, std::span<const int> option_of_kind, SeatOrder order) {
  std::vector<Placed> placed;
  for (std::int64_t t = 0; t < problem.tables(); ++t) placed.push_back({option_of_kind[problem.kind_number(t)], {}});
  const auto work_of = [&](std::int64_t t) -> const OptionWork& {
    return problem.work(t, placed[static_cast<std::size_t>(t)].option);
  };
  std::vector<std::pair<double, std::int64_t>> tables;
  for (std::int64_t t = 0; t < problem.tables(); ++t) tables.emplace_back(heaviest_load(work_of(t), order), t);
  std::ranges::stable_sort(tables, std::greater(), &std::pair<double, std::int64_t>::first);
  std::vector<double> loads(static_cast<std::size_t>(problem.ranks()));
  for (const auto& [load, t] : tables) {
    Placed& of_table = placed[static_cast<std::size_t>(t)];
    of_table.ranks = lightest(problem, t, of_table.option, loads);
    for (std::size_t seat = 0; seat < of_table.ranks.size(); ++seat)
      loads[static_cast<std::size_t>(of_table.ranks[seat])] += load_of_seat(work_of(t), seat, order);
    if (order == SeatOrder::seconds)
      add_beside(problem, problem.option(t, of_table.option).together, work_of(t).beside, of_table.ranks, loads);
  }
  return placed;
}

std::vector<int> whole_tables(const SearchProblem& problem, std::span<const int> otherwise) {
  std::vector<int> options(otherwise.begin(), otherwise.end());
  for (std::size_t k = 0; k < options.size(); ++k) {
    const auto& known = problem.kinds()[k].options;
    const auto whole = std::ranges::find_if(known, [](const TableOption& option) {
      return option.seats() == 1 && option.placement.hot_rows == 0 && !option.placement.storage;
    });
    if (whole != known.end()) options[k] = static_cast<int>(whole - known.begin());
  }
  return options;
}

}  // namespace shardmark::placement
