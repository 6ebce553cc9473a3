// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "comm/placement/search/problem.hpp"

namespace shardmark::placement {

/// Says how good a plan is: by the bytes that ranks have too little of; then by the seconds of a step; then, to
/// distinguish plans of one maximum, by the sum of squares of all costs of all ranks that are seconds.
struct Score {
  double overflow = 0.0;
  double seconds = 0.0;
  double squares = 0.0;

  /// Returns whether it is better by more than rounding: 1e-9 of the other.
  bool better_than(const Score& other) const;
};

/// A Change is another place for one table.
struct Change {
  std::int64_t table = 0;
  Placed to;
};

/// Holds a plan that the search changes, with sums by rank and their maxima. Pricing a change takes time proportional
/// to the seats that it moves, plus the nodes; where it changes what a table is to every rank, to the ranks.
class SearchState {
 public:
  SearchState(const SearchProblem& problem, std::vector<Placed> placed);

  const SearchProblem& problem() const { return *problem_; }
  const Score& score() const { return score_; }
  std::span<const Placed> placed() const { return placed_; }
  const Placed& placed(std::int64_t table) const { return placed_[static_cast<std::size_t>(table)]; }
  std::span<const std::int64_t> tables_on(int rank) const { return on_rank_[static_cast<std::size_t>(rank)]; }
  const RankCosts& costs(int rank) const { return costs_[static_cast<std::size_t>(rank)]; }
  /// Returns how many ranks all calls of with() had to price, for budgets.
  std::int64_t work() const { return work_; }

  /// Returns the score after changes of different tables.
  Score with(std::span<const Change> changes);
  void apply(std::span<const Change> changes);

  /// Returns, for each cost that any rank has some of, a rank that has most; each once. Memory counts only where ranks
  /// have too little of it.
  std::vector<int> critical_ranks() const;

 private:
  /// Limits how many ranks that have most of a cost are known, in their order: two more than a swap touches.
  static constexpr std::size_t kept = 4;
  struct Touched {
    int rank = 0;
    RankSums by;
  };
  /// Holds bytes in the order of RankSums: exchanged, in_node and on_rail, each by exchange phase.
  using ExchangedBytes = std::array<std::vector<double>, 3 * exchange_phases>;

  void gather(std::span<const Change> changes);
  void gather(const Change& change);
  void gather_seats(const OptionWork& work, const Placed& placed, std::span<const PlacedStrip> strips, bool leaves);
  template <class Work>
  void gather_shared(const Work& work, bool leaves);
  RankSums& touched(int rank);
  void forget();
  void commit();
  void rank_by(std::size_t cost);
  /// Inserts the ranks touched into those that have most of a cost; false where one of these was touched, which may
  /// have fallen behind others.
  bool insert_touched(std::size_t cost);

  // With what was gathered, of all ranks or those touched.
  RankSums sums_with(std::size_t rank) const;
  RankCosts costs_with(std::size_t rank) const;
  Score evaluate_all() const;
  Score evaluate_touched();
  RankCosts most_of_untouched() const;
  double overflow_with(double most_memory) const;
  double seconds(const RankCosts& most, const RankCosts& all, const ExchangedBytes& bytes) const;
  /// Returns the bytes that are exchanged, by node; by rank where exchanges do not follow from the busiest; nothing
  /// where the exchange needs neither.
  ExchangedBytes exchanged_bytes() const;
  /// These functions return how many of the RankCosts, and of the bytes, there can be some of: none inside nodes and
  /// along rails where no option depends on nodes.
  std::size_t cost_kinds() const { return problem_->depends_on_nodes() ? RankCosts::places : RankCosts::in_node; }
  std::size_t exchanged_kinds() const { return problem_->depends_on_nodes() ? 3 * exchange_phases : exchange_phases; }
  void add_touched_to(ExchangedBytes& bytes, double sign) const;

  const SearchProblem* problem_;
  std::vector<Placed> placed_;
  std::vector<std::vector<PlacedStrip>> strips_;  ///< by table, as it is placed
  std::vector<std::vector<std::int64_t>> on_rank_;
  std::vector<RankSums> sums_;  ///< by rank, without everywhere_
  RankSums everywhere_;
  StepTotals totals_;
  std::vector<RankCosts> costs_;  ///< by rank, with everywhere_
  RankCosts all_;                 ///< their sum
  std::array<std::array<int, kept>, RankCosts::places> most_{};
  ExchangedBytes bytes_;
  Score score_;
  std::int64_t work_ = 0;

  std::vector<Touched> touched_;  ///< what was gathered, and is forgotten again
  std::vector<int> touched_at_;   ///< by rank: its place there, -1 where there is none
  RankSums everywhere_by_;
  StepTotals totals_by_;
  bool changes_all_ = false;
};

}  // namespace shardmark::placement
