// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/test/search_oracle.hpp"

#include <algorithm>
#include <numeric>

namespace shardmark::placement {
namespace {

class BranchAndBound {
 public:
  BranchAndBound(const SearchProblem& problem, double at_most)
      : problem_(problem), best_(at_most * (1 + 1e-9)), sums_(static_cast<std::size_t>(problem.ranks())) {
    order_.resize(static_cast<std::size_t>(problem.tables()));
    std::iota(order_.begin(), order_.end(), 0);
    const auto most = [&](std::int64_t t) { return least_of(t, 1.0); };
    std::ranges::stable_sort(order_, [&](std::int64_t a, std::int64_t b) { return most(a) > most(b); });
    rest_.resize(order_.size() + 1);
    for (std::size_t k = order_.size(); k-- > 0;) rest_[k] = rest_[k + 1] + least_of(order_[k], 1.0 / problem.ranks());
  }

  double run() {
    descend(0);
    return found_;
  }

 private:
  /// Seconds that a rank computes, with the passes of its sorts for its own keys alone.
  static double computing(const RankSums& sums) {
    const auto seconds = compute_seconds(sums);
    return std::accumulate(seconds.begin(), seconds.end(), 0.0);
  }

  /// Of the cheapest option: what every rank computes, and a share of what the seats do.
  double least_of(std::int64_t table, double share) const {
    double least = std::numeric_limits<double>::infinity();
    for (int option = 0; option < problem_.kind(table).proposed; ++option) {
      const OptionWork& work = problem_.work(table, option);
      double seconds = computing(work.everywhere);
      for (const RankSums& seat : work.seats) seconds += share * computing(seat);
      least = std::min(least, seconds);
    }
    return least;
  }

  /// Seconds of the tables placed so far, alone; and their mean over the ranks instead of the maximum, with the rest.
  double bound(std::size_t placed) const {
    const StepSeconds& step = problem_.seconds();
    RankCosts most;
    double mean = 0.0;
    std::array<RankBytes, exchange_phases> bytes;
    for (const RankSums& of_rank : sums_) {
      RankSums sums = of_rank;
      sums += everywhere_;
      most.raise_to(step.costs(sums));
      mean += computing(sums) / problem_.ranks();
      for (std::size_t w = 0; w < exchange_phases; ++w) {
        bytes[w].all.push_back(sums[RankSums::exchanged + w]);
        bytes[w].node.push_back(sums[RankSums::in_node + w]);
        bytes[w].rail.push_back(sums[RankSums::on_rail + w]);
      }
    }
    if (most[RankCosts::memory] > problem_.memory()) return std::numeric_limits<double>::infinity();
    std::array<ExchangeTime, exchange_phases> exchanges;
    for (std::size_t w = 0; w < exchange_phases; ++w) exchanges[w] = step.exchange(bytes[w]);
    const double all = step.step(most, exchanges, totals_);
    RankCosts travelling = most;
    std::fill_n(travelling.at.begin(), phase_count, 0.0);
    return std::max(all, step.step(travelling, exchanges, totals_) + mean + rest_[placed]);
  }

  void descend(std::size_t placed) {
    const double least = bound(placed);
    if (least >= best_) return;
    if (placed == order_.size()) {
      found_ = best_ = least;
      return;
    }
    const std::int64_t table = order_[placed];
    for (int option = 0; option < problem_.kind(table).proposed; ++option) {
      const OptionWork& work = problem_.work(table, option);
      everywhere_ += work.everywhere;
      totals_ += work.totals;
      std::vector<int> ranks;
      seat(placed, table, option, ranks);
      everywhere_ -= work.everywhere;
      totals_ -= work.totals;
    }
  }

  /// The next seat of the option on every rank that makes a difference.
  void seat(std::size_t placed, std::int64_t table, int option, std::vector<int>& ranks) {
    const OptionWork& work = problem_.work(table, option);
    const std::size_t seat_number = ranks.size();
    if (seat_number == work.seats.size()) return descend(placed + 1);
    const RankSums& sums = work.seats[seat_number];
    const bool as_before = seat_number > 0 && work.seats[seat_number - 1] == sums;
    std::vector<int> tried;
    for (int rank = as_before ? ranks.back() + 1 : 0; rank < problem_.ranks(); ++rank) {
      const auto node = [&](int r) { return problem_.node_of(static_cast<std::size_t>(r)); };
      const auto same = [&](int other) {
        return node(other) == node(rank) &&
               sums_[static_cast<std::size_t>(other)] == sums_[static_cast<std::size_t>(rank)];
      };
      const auto together = static_cast<std::size_t>(problem_.option(table, option).together);
      const bool off_node = together > 0 && seat_number % together > 0 && node(ranks.back()) != node(rank);
      if (std::ranges::find(ranks, rank) != ranks.end() || off_node) continue;
      // Equal seats go to ascending ranks, so an equal rank may be left out only where no seat like this comes after.
      if (work.seats.size() == 1 && std::ranges::any_of(tried, same)) continue;
      tried.push_back(rank);
      const RankSums before = sums_[static_cast<std::size_t>(rank)];
      sums_[static_cast<std::size_t>(rank)] += sums;
      ranks.push_back(rank);
      seat(placed, table, option, ranks);
      ranks.pop_back();
      sums_[static_cast<std::size_t>(rank)] = before;
    }
  }

  const SearchProblem& problem_;
  double best_, found_ = std::numeric_limits<double>::infinity();
  std::vector<std::int64_t> order_;
  std::vector<double> rest_;  ///< seconds at least of the tables from each on
  std::vector<RankSums> sums_;
  RankSums everywhere_;
  StepTotals totals_;
};

}  // namespace

double fastest_plan(const SearchProblem& problem, double at_most) { return BranchAndBound(problem, at_most).run(); }

}  // namespace shardmark::placement
