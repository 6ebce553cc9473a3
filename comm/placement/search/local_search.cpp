// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/search/local_search.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "comm/placement/search/seating.hpp"

namespace shardmark::placement {
namespace {

/// This is the key by which tables on one rank count as alike.
using KindAndOption = std::pair<std::size_t, int>;

KindAndOption kind_and_option(const SearchState& state, std::int64_t table) {
  return {state.problem().kind_number(table), state.placed(table).option};
}

bool holds(const Placed& placed, int rank) { return std::ranges::find(placed.ranks, rank) != placed.ranks.end(); }

Placed with_seat(Placed placed, int from, int to) {
  std::ranges::replace(placed.ranks, from, to);
  return placed;
}

/// Returns one table on the rank of each kind and option.
std::vector<std::int64_t> different_tables(const SearchState& state, int rank) {
  std::vector<std::int64_t> tables;
  std::set<KindAndOption> seen;
  for (const std::int64_t table : state.tables_on(rank))
    if (seen.insert(kind_and_option(state, table)).second) tables.push_back(table);
  return tables;
}

/// Keeps the best of the changes that are tried.
class Best {
 public:
  explicit Best(SearchState& state) : state_(state), score_(state.score()) {}

  void try_changes(std::vector<Change> changes) {
    const Score score = state_.with(changes);
    if (!score.better_than(score_)) return;
    score_ = score;
    changes_ = std::move(changes);
  }
  bool apply() {
    if (!changes_.empty()) state_.apply(changes_);
    return !changes_.empty();
  }

 private:
  SearchState& state_;
  Score score_;
  std::vector<Change> changes_;
};

class LocalSearch {
 public:
  LocalSearch(SearchState& state, SearchBudget& budget) : state_(state), problem_(state.problem()), budget_(budget) {}

  void run() {
    while (change_options() || move_critical() || swap_critical()) {
    }
  }

 private:
  bool go_on() {
    const std::int64_t before = std::exchange(work_, state_.work());
    return budget_.spend(work_ - before);
  }

  /// Moves seats on critical ranks to any other rank.
  bool move_critical() {
    bool improved = false;
    for (const int from : state_.critical_ranks())
      for (const std::int64_t table : different_tables(state_, from)) {
        if (!go_on()) return false;
        Best best(state_);
        const Placed& placed = state_.placed(table);
        if (!problem_.option(table, placed.option).movable()) continue;
        for (const int to : ranks_to_try(state_))
          if (!holds(placed, to)) best.try_changes({{table, with_seat(placed, from, to)}});
        improved |= best.apply();
      }
    return improved;
  }

  /// Tries other options for one table of each kind and option, those on critical ranks first.
  bool change_options() {
    std::vector<std::int64_t> tables;
    for (const int rank : state_.critical_ranks())
      std::ranges::copy(different_tables(state_, rank), std::back_inserter(tables));
    for (std::int64_t t = 0; t < problem_.tables(); ++t) tables.push_back(t);
    std::set<KindAndOption> seen;
    bool improved = false;
    for (const std::int64_t table : tables) {
      if (!seen.insert(kind_and_option(state_, table)).second) continue;
      if (!go_on()) return false;
      improved |= change_option(table);
    }
    return improved;
  }

  bool change_option(std::int64_t table) {
    Best best(state_);
    for (int option = 0; option < problem_.kind(table).proposed; ++option)
      for (const SeatOrder order : {SeatOrder::seconds, SeatOrder::memory}) {
        if (order == SeatOrder::memory && problem_.memory() == no_limit) continue;
        best.try_changes({{table, {option, light_ranks(state_, table, option, order)}}});
      }
    return best.apply();
  }

  /// Exchanges seats on critical ranks with those of other tables elsewhere.
  bool swap_critical() {
    bool improved = false;
    for (const int from : state_.critical_ranks())
      for (const std::int64_t table : different_tables(state_, from)) {
        if (!go_on()) return false;
        Best best(state_);
        if (!problem_.option(table, state_.placed(table).option).movable()) continue;
        for (const int to : ranks_to_try(state_))
          if (!holds(state_.placed(table), to)) try_swaps(table, from, to, best);
        improved |= best.apply();
      }
    return improved;
  }

  void try_swaps(std::int64_t table, int from, int to, Best& best) {
    for (const std::int64_t other : different_tables(state_, to)) {
      const Placed& placed = state_.placed(other);
      if (holds(placed, from) || !problem_.option(other, placed.option).movable()) continue;
      if (placed.ranks.size() == 1 && kind_and_option(state_, other) == kind_and_option(state_, table)) continue;
      best.try_changes({{table, with_seat(state_.placed(table), from, to)}, {other, with_seat(placed, to, from)}});
    }
  }

  SearchState& state_;
  const SearchProblem& problem_;
  SearchBudget& budget_;
  std::int64_t work_ = state_.work();
};

}  // namespace

void improve(SearchState& state, SearchBudget& budget) { LocalSearch(state, budget).run(); }

}  // namespace shardmark::placement
