// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/search/annealing.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "comm/placement/search/seating.hpp"
#include "reference/counter_random.hpp"

namespace shardmark::placement {
namespace {

constexpr double hottest = 2e-2, coldest = 1e-5;  ///< of the seconds of the first step
constexpr double squares_weight = 0.05;  ///< of the squares beside the seconds, in those of the first step: without
                                         ///< them most changes, which touch no maximum, would not count

class Annealing {
 public:
  Annealing(SearchState& state, SearchBudget& budget, std::uint64_t seed)
      : state_(state), problem_(state.problem()), budget_(budget), seed_(seed), first_(state.score()) {}

  void run() {
    SearchState best = state_;
    for (std::int64_t work = state_.work(); budget_.spend(state_.work() - std::exchange(work, state_.work()));) {
      const std::vector<Change> changes = proposal();
      if (changes.empty()) {
        budget_.spend(1);
        continue;
      }
      const Score score = state_.with(changes);
      if (accepts(score)) state_.apply(changes);
      if (++tried_ % 1024 == 0 && state_.score().better_than(best.score())) best = state_;
    }
    if (best.score().better_than(state_.score())) state_ = std::move(best);
  }

 private:
  std::uint64_t draw() { return random_bits(seed_, drawn_++); }
  template <class Count>
  std::size_t below(Count count) {
    return static_cast<std::size_t>(draw() % static_cast<std::uint64_t>(count));
  }

  double energy(const Score& score) const {
    const double squares = first_.squares > 0.0 ? score.squares / first_.squares : 0.0;
    return score.seconds / first_.seconds + squares_weight * squares;
  }

  bool accepts(const Score& score) {
    if (score.overflow > state_.score().overflow + 1.0) return false;
    const double worse = energy(score) - energy(state_.score());
    if (worse <= 0.0) return true;
    const double temperature = hottest * std::pow(coldest / hottest, budget_.progress());
    return unit_interval(draw()) < std::exp(-worse / temperature);
  }

  std::int64_t table() {
    if (draw() % 2 == 0) {
      const std::vector<int> ranks = state_.critical_ranks();
      if (!ranks.empty()) {
        const auto tables = state_.tables_on(ranks[below(ranks.size())]);
        if (!tables.empty()) return tables[below(tables.size())];
      }
    }
    return static_cast<std::int64_t>(below(problem_.tables()));
  }

  /// Returns no changes where what was drawn cannot be done.
  std::vector<Change> proposal() {
    const std::int64_t chosen = table();
    const std::uint64_t what = draw() % 10;
    if (what < 2) return other_option(chosen);
    return what < 6 ? move(chosen) : swap(chosen);
  }

  std::vector<Change> other_option(std::int64_t chosen) {
    const int option = static_cast<int>(below(problem_.kind(chosen).proposed));
    const SeatOrder order = problem_.memory() != no_limit && draw() % 4 == 0 ? SeatOrder::memory : SeatOrder::seconds;
    return {{chosen, {option, light_ranks(state_, chosen, option, order)}}};
  }

  bool may_move(std::int64_t table) const {
    const Placed& placed = state_.placed(table);
    return !placed.ranks.empty() && problem_.option(table, placed.option).movable();
  }

  std::vector<Change> move(std::int64_t chosen) {
    if (!may_move(chosen)) return {};
    Placed placed = state_.placed(chosen);
    const int to = static_cast<int>(below(problem_.ranks()));
    int& seat = placed.ranks[below(placed.ranks.size())];
    // A rank that has another seat of the table gives that away for this.
    std::ranges::replace(placed.ranks, to, int{seat});
    seat = to;
    return {{chosen, std::move(placed)}};
  }

  std::vector<Change> swap(std::int64_t chosen) {
    const auto other = static_cast<std::int64_t>(below(problem_.tables()));
    if (chosen == other || !may_move(chosen) || !may_move(other)) return {};
    Placed one = state_.placed(chosen), two = state_.placed(other);
    int& a = one.ranks[below(one.ranks.size())];
    int& b = two.ranks[below(two.ranks.size())];
    if (std::ranges::count(one.ranks, b) > 0 || std::ranges::count(two.ranks, a) > 0) return {};
    std::swap(a, b);
    return {{chosen, std::move(one)}, {other, std::move(two)}};
  }

  SearchState& state_;
  const SearchProblem& problem_;
  SearchBudget& budget_;
  std::uint64_t seed_, drawn_ = 0;
  std::int64_t tried_ = 0;
  Score first_;
};

}  // namespace

void anneal(SearchState& state, SearchBudget& budget, std::uint64_t seed) {
  if (!state.critical_ranks().empty()) Annealing(state, budget, seed).run();
}

}  // namespace shardmark::placement
