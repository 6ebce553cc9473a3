// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/search/lower_bound.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "comm/placement/search/least_prices.hpp"

namespace shardmark::placement {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

double total(const std::array<double, phase_count>& seconds) {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

/// Returns the owners of a strip where they send least.
std::span<const RankSums> owners_of(const StripCase& of) {
  return of.parts->in_node.empty() ? of.parts->alone : of.parts->in_node;
}

/// A set of exchange phases, a bit each.
using Phases = unsigned;
constexpr Phases all_phases = (1u << exchange_phases) - 1;

/// Returns the exchange phases in which an option sends bytes to all ranks, wherever its seats are.
Phases travels(const OptionWork& work) {
  Phases travels = 0;
  for (std::size_t w = 0; w < exchange_phases; ++w) {
    const auto sends = [w](const RankSums& sums) { return sums[RankSums::exchanged + w] > 0.0; };
    bool always = std::ranges::any_of(work.seats, sends);
    for (const std::vector<StripCase>& cases : work.strips.cheapest_cases())
      always |=
          std::ranges::all_of(cases, [&](const StripCase& of) { return std::ranges::any_of(owners_of(of), sends); });
    if (always) travels |= 1u << w;
  }
  return travels;
}

/// An Item is an option as bounds see it, in seconds and bytes.
struct Item {
  double mean = 0.0;        ///< seconds of the step in the mean of the ranks
  double alone = 0.0;       ///< of the step if there were no other table
  double everywhere = 0.0;  ///< that every rank computes
  double memory = 0.0;      ///< of all ranks together
  Phases travels = 0;       ///< in which it surely sends bytes to all ranks
  bool fits = true;
};

class Bound {
 public:
  Bound(const SearchProblem& problem, ExchangePrice price)
      : problem_(problem),
        price_(price),
        all_reduce_(all_reduce_price(problem.step(), problem.machine())),
        always_(problem.seconds().step({}, {}, {})) {
    for (const TableKind& kind : problem.kinds()) {
      std::vector<Item>& items = items_.emplace_back();
      for (const OptionWork& work : kind.works) {
        items.push_back(item_of(work));
        items.back().travels = travels(work);
      }
    }
  }

  /// Returns the least of the bounds over the sets of phases in which bytes may travel to all ranks: each of these
  /// phases takes a start, and no table takes an option that surely sends in another.
  LowerBound of_total() const {
    LowerBound least = in(all_phases);
    for (Phases phases = 0; phases < all_phases; ++phases) {
      LowerBound bound = in(phases);
      if (bound.seconds < least.seconds) least = std::move(bound);
    }
    return least;
  }

  double largest_item() const {
    double everywhere = 0.0, most = 0.0;
    for (std::size_t k = 0; k < items_.size(); ++k) everywhere += tables(k) * least(k, &Item::everywhere);
    for (std::size_t k = 0; k < items_.size(); ++k)
      most = std::max(most, least(k, &Item::alone) - least(k, &Item::everywhere));
    return always_ + everywhere + most;
  }

 private:
  Item item_of(const OptionWork& work) const {
    const double ranks = problem_.ranks();
    Item item{.everywhere = total(compute_seconds(work.everywhere)),
              .memory = ranks * work.everywhere[RankSums::memory]};
    RankSums all, most;
    std::array<double, phase_count> heaviest{};
    for (const RankSums& seat : work.seats) {
      const auto seconds = compute_seconds(seat);
      for (std::size_t p = 0; p < phase_count; ++p) heaviest[p] = std::max(heaviest[p], seconds[p]);
      for (std::size_t p = 0; p < RankSums::places; ++p) most[p] = std::max(most[p], seat[p]);
      all += seat;
      item.mean += in_mean(seat);
    }
    const double copies = item.everywhere + all_reduce_ * work.totals.all_reduced;
    item.mean += copies;
    item.alone = copies + total(heaviest);
    for (std::size_t w = 0; w < exchange_phases; ++w) item.alone += price_.busiest * most[RankSums::exchanged + w];
    item.memory += all[RankSums::memory];
    item.fits = work.everywhere[RankSums::memory] + most[RankSums::memory] <= problem_.memory();
    add_strips(item, work.strips.cheapest_cases());
    return item;
  }

  /// Adds, of each strip, the least of its cases in every respect.
  void add_strips(Item& item, const std::vector<std::vector<StripCase>>& strips) const {
    double alone = 0.0;
    for (const std::vector<StripCase>& cases : strips) {
      Item least = item_of(cases.front());
      for (const StripCase& of : cases) {
        const Item other = item_of(of);
        for (const auto what : {&Item::mean, &Item::alone, &Item::everywhere, &Item::memory})
          least.*what = std::min(least.*what, other.*what);
      }
      item.everywhere += least.everywhere;
      item.mean += least.mean;
      item.memory += least.memory;
      item.alone += least.everywhere;
      alone = std::max(alone, least.alone);
    }
    item.alone += alone;
  }

  /// Returns a case of a strip; alone: without what it is to every rank.
  Item item_of(const StripCase& of) const {
    const StripParts<RankSums>& parts = *of.parts;
    const double ranks = problem_.ranks(), nodes = static_cast<double>(problem_.nodes());
    const double adders = of.adding * problem_.step().layout().on_node(static_cast<int>(problem_.nodes()) - 1);
    Item item{.everywhere = total(compute_seconds(parts.everywhere)),
              .memory = ranks * parts.everywhere[RankSums::memory] + adders * parts.adders[1][RankSums::memory]};
    item.mean = item.everywhere + adders * in_mean(parts.adders[1]);
    for (const RankSums& rail : parts.rails) {
      item.mean += nodes * in_mean(rail);
      item.memory += nodes * rail[RankSums::memory];
    }
    const auto owners = owners_of(of);
    double more = unbounded, more_memory = unbounded;  // of an owner that sends its partial sums alone
    for (std::size_t k = 0; k < owners.size(); ++k) {
      item.mean += in_mean(owners[k]);
      item.memory += owners[k][RankSums::memory];
      more = std::min(more, in_mean(parts.alone[k]) - in_mean(owners[k]));
      more_memory = std::min(more_memory, parts.alone[k][RankSums::memory] - owners[k][RankSums::memory]);
      item.alone = std::max(item.alone, total(compute_seconds(owners[k])));
    }
    item.mean += of.alone * more;
    item.memory += of.alone * more_memory;
    return item;
  }

  /// Returns what work of one rank adds to the mean of the ranks.
  double in_mean(const RankSums& sums) const {
    double seconds = total(compute_seconds(sums));
    for (std::size_t w = 0; w < exchange_phases; ++w)
      seconds += price_.mean * sums[RankSums::exchanged + w] + price_.in_node * sums[RankSums::in_node + w] +
                 price_.on_rail * sums[RankSums::on_rail + w];
    return seconds / problem_.ranks();
  }

  double tables(std::size_t kind) const { return static_cast<double>(problem_.kinds()[kind].tables.size()); }

  double least(std::size_t kind, double Item::*what) const {
    double least = unbounded;
    for (const Item& item : items_[kind])
      if (item.fits) least = std::min(least, item.*what);
    return least;
  }

  /// Takes the cheapest option of every table, with memory at a price of seconds per byte.
  LowerBound at_price(double memory, Phases phases) const {
    LowerBound bound{.seconds = memory > 0.0 ? -memory * problem_.memory() * problem_.ranks() : 0.0, .options = {}};
    for (std::size_t k = 0; k < items_.size(); ++k) {
      double least = unbounded;
      int best = 0;
      for (std::size_t o = 0; o < items_[k].size(); ++o) {
        const Item& item = items_[k][o];
        if (!item.fits || (item.travels & ~phases) != 0) continue;
        const double seconds = item.mean + memory * item.memory;
        if (seconds < least) best = static_cast<int>(o);
        least = std::min(least, seconds);
      }
      bound.seconds += tables(k) * least;
      bound.options.push_back(best);
    }
    return bound;
  }

  /// Returns the bound of plans in which bytes travel to all ranks in these phases and no others.
  LowerBound in(Phases phases) const {
    LowerBound bound = cheapest(phases);
    bound.seconds += always_ + price_.start * std::popcount(phases);
    return bound;
  }

  /// Returns the largest bound over all prices: it is a concave function of the price, whose maximum is found by
  /// thirds.
  LowerBound cheapest(Phases phases) const {
    LowerBound free = at_price(0.0, phases);
    if (problem_.memory() == no_limit || !(free.seconds < unbounded)) return free;
    const auto seconds = [&](double price) { return at_price(price, phases).seconds; };
    double low = 0.0, high = (free.seconds + 1e-6) / (problem_.memory() * problem_.ranks());
    while (high < 1.0 && seconds(2 * high) > seconds(high)) high *= 2;
    high *= 2;
    for (int round = 0; round < 100; ++round) {
      const double third = (high - low) / 3;
      if (seconds(low + third) < seconds(high - third))
        low += third;
      else
        high -= third;
    }
    LowerBound priced = at_price(high, phases);
    return priced.seconds > free.seconds ? priced : free;
  }

  const SearchProblem& problem_;
  ExchangePrice price_;
  double all_reduce_, always_;
  std::vector<std::vector<Item>> items_;  ///< by kind and option
};

LowerBound larger(LowerBound a, LowerBound b) { return a.seconds < b.seconds ? b : a; }

}  // namespace

LowerBound lower_bound(const SearchProblem& problem) {
  const Bound small(problem, price_from_start(problem.step(), problem.machine()));
  const Bound large(problem, price_per_byte(problem.step(), problem.machine()));
  LowerBound bound = larger(small.of_total(), large.of_total());
  bound.seconds = std::max({bound.seconds, small.largest_item(), large.largest_item()});
  // Groups hide the shorter of computing and travelling, but for the first group's. Where phases overlap, a step takes
  // at least as long as its busiest resource.
  const auto groups = static_cast<double>(std::max<std::int64_t>(problem.step().groups, 1));
  bound.seconds *= problem.machine().software.overlaps.any() ? 1.0 / step_resources.size() : 0.5 + 0.5 / groups;
  return bound;
}

}  // namespace shardmark::placement
