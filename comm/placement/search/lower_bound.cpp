// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/search/lower_bound.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

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

/// A set of exchanges, a bit each: phase w between all ranks, inside nodes, and along rails; and those that say how
/// many ids of bags come, and how many rows are asked for.
using Exchanges = unsigned;
constexpr std::size_t exchange_kinds = 3;
constexpr Exchanges pools = 1u << exchange_kinds * exchange_phases, asks = 2 * pools;

/// Returns the exchanges in which a rank with these sums sends: they stand in the order of RankSums.
Exchanges sent(const RankSums& sums) {
  Exchanges sent = 0;
  for (std::size_t e = 0; e < exchange_kinds * exchange_phases; ++e)
    if (sums[RankSums::exchanged + e] > 0.0) sent |= 1u << e;
  return sent;
}

Exchanges sent(std::span<const RankSums> ranks) {
  Exchanges all = 0;
  for (const RankSums& sums : ranks) all |= sent(sums);
  return all;
}

/// Returns the exchanges that announce what comes.
Exchanges announced(const StepTotals& totals) {
  return (totals.pools > 0 ? pools : 0u) | (totals.asks_rows > 0 ? asks : 0u);
}

/// Returns the exchanges in which a case of a strip sends whichever owners' nodes add: what owners send either way,
/// and, where a node adds, what all would send there and what its ranks do.
Exchanges sent(const StripCase& of) {
  const StripParts<RankSums>& parts = *of.parts;
  const Exchanges all = sent(parts.everywhere) | sent(parts.rails) | announced(parts.totals);
  if (of.adding == 0) return all | sent(parts.alone);
  Exchanges either = 0, in_node = ~0u;
  for (std::size_t k = 0; k < parts.alone.size(); ++k) {
    const Exchanges added = sent(parts.in_node.empty() ? parts.alone[k] : parts.in_node[k]);
    either |= sent(parts.alone[k]) & added;
    in_node &= added;
  }
  return all | either | (parts.alone.empty() ? 0u : in_node) | sent(parts.adders[1]);
}

/// Returns what an option may surely exchange: the unions of one case of each strip.
std::set<Exchanges> sent(const OptionWork& work) {
  std::set<Exchanges> unions{sent(work.everywhere) | sent(work.seats) | announced(work.totals)};
  for (const std::vector<StripCase>& cases : work.strips.cheapest_cases()) {
    std::set<Exchanges> with_strip;
    for (const StripCase& of : cases)
      for (const Exchanges each : unions) with_strip.insert(each | sent(of));
    unions = std::move(with_strip);
  }
  return unions;
}

/// An Item is an option with cases of its strips that exchange the same, as bounds see it, in seconds and bytes.
struct Item {
  int option = 0;
  Exchanges sent = 0;       ///< in which it surely sends, and no more
  double mean = 0.0;        ///< seconds of the step in the mean of the ranks
  double alone = 0.0;       ///< of the step if there were no other table
  double everywhere = 0.0;  ///< that every rank computes
  double memory = 0.0;      ///< of all ranks together
  bool fits = true;
};

using PhaseSeconds = std::array<double, phase_count>;

class Bound {
 public:
  Bound(const SearchProblem& problem, ExchangePrice price)
      : problem_(problem), price_(price), all_reduce_(all_reduce_price(problem.step(), problem.machine())) {
    for (const TableKind& kind : problem.kinds()) {
      std::vector<Item>& items = items_.emplace_back();
      for (int option = 0; option < std::ssize(kind.works); ++option)
        for (const Exchanges each : sent(kind.works[static_cast<std::size_t>(option)]))
          items.push_back(item_of(kind.works[static_cast<std::size_t>(option)], option, each));
      everywhere_ += static_cast<double>(kind.tables.size()) * least_everywhere(items);
    }
  }

  /// Returns the least of the bounds over what plans surely exchange, which are unions of what their options do: each
  /// of these exchanges takes a start, and no table takes an option that surely sends in another.
  LowerBound of_total() const {
    std::set<Exchanges> unions{0};
    for (const std::vector<Item>& items : items_)
      for (const Item& item : items) {
        if (unions.contains(item.sent)) continue;
        std::vector<Exchanges> with_item;
        for (const Exchanges each : unions) with_item.push_back(each | item.sent);
        unions.insert(with_item.begin(), with_item.end());
      }
    LowerBound least = of_exchanges(*unions.rbegin());
    for (const Exchanges each : unions)
      if (LowerBound bound = of_exchanges(each); bound.seconds < least.seconds) least = std::move(bound);
    return least;
  }

 private:
  Item item_of(const OptionWork& work, int option, Exchanges exchanges) const {
    const double ranks = problem_.ranks();
    Item item{.option = option,
              .sent = exchanges,
              .everywhere = total(compute_seconds(work.everywhere)),
              .memory = ranks * work.everywhere[RankSums::memory]};
    RankSums all, most;
    PhaseSeconds heaviest{};
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

  /// Adds, of each strip, the least in every respect of its cases that send in no other exchange.
  void add_strips(Item& item, const std::vector<std::vector<StripCase>>& strips) const {
    double alone = 0.0;
    for (const std::vector<StripCase>& cases : strips) {
      Item least{.mean = unbounded, .alone = unbounded, .everywhere = unbounded, .memory = unbounded};
      for (const StripCase& of : cases) {
        if ((sent(of) & ~item.sent) != 0) continue;
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

  bool together(std::size_t kind, int option) const {
    return problem_.kinds()[kind].options[static_cast<std::size_t>(option)].together > 0;
  }

  static double least_everywhere(std::span<const Item> items) {
    double least = unbounded;
    for (const Item& item : items)
      if (item.fits) least = std::min(least, item.everywhere);
    return least;
  }

  /// Says which items a plan may have: those that surely send in no other exchanges, and that take no longer on the
  /// ranks that own them.
  struct Allowed {
    Exchanges exchanges = 0;
    double own = unbounded;

    bool operator()(const Item& item) const {
      return item.fits && (item.sent & ~exchanges) == 0 && item.alone - item.everywhere <= own;
    }
  };

  /// Takes the cheapest option of every table, with memory at a price of seconds per byte.
  LowerBound at_price(double memory, const Allowed& allowed) const {
    LowerBound bound{.seconds = memory > 0.0 ? -memory * problem_.memory() * problem_.ranks() : 0.0,
                     .options = {std::vector<int>()}};
    for (std::size_t k = 0; k < items_.size(); ++k) {
      double least = unbounded;
      int best = 0;
      for (const Item& item : items_[k]) {
        if (!allowed(item)) continue;
        const double seconds = item.mean + memory * item.memory;
        // Seats that are on one node together exchange what the bound says, others perhaps more.
        if (seconds < least || (seconds == least && together(k, item.option))) best = item.option;
        least = std::min(least, seconds);
      }
      bound.seconds += tables(k) * least;
      bound.options.front().push_back(best);
    }
    return bound;
  }

  /// Returns what a step takes in which these exchanges are begun, and nothing else is done.
  double begun(Exchanges exchanges) const {
    double seconds = problem_.seconds().step(
        {}, {}, {.pools = (exchanges & pools) != 0 ? 1 : 0, .asks_rows = (exchanges & asks) != 0 ? 1 : 0});
    for (std::size_t e = 0; e < exchange_kinds * exchange_phases; ++e)
      if (exchanges >> e & 1u)
        seconds += std::array{price_.start, price_.start_in_node, price_.start_on_rail}[e / exchange_phases];
    return seconds;
  }

  /// Returns the least T that no less than T is taken by tables whose items alone end within T: a plan that takes T has
  /// no others. What the tables take in all falls as T grows, so T is found by halves.
  LowerBound of_exchanges(Exchanges exchanges) const {
    const double always = begun(exchanges);
    const auto within = [&](double seconds) {
      LowerBound bound = cheapest({exchanges, seconds - always - everywhere_});
      bound.seconds += always;
      return bound;
    };
    LowerBound bound = within(unbounded);
    if (!(bound.seconds < unbounded)) return bound;
    double low = bound.seconds, high = low;
    while (within(high).seconds > high) low = std::exchange(high, 2 * high);
    while (high - low > 1e-6 * high) {
      const double middle = (low + high) / 2;
      (within(middle).seconds > middle ? low : high) = middle;
    }
    bound.seconds = low;
    bound.options.clear();
    for (const double share : {1.0, 0.5, 0.25}) {
      LowerBound smaller = within(always + everywhere_ + share * (high - always - everywhere_));
      if (smaller.seconds < unbounded && (bound.options.empty() || bound.options.back() != smaller.options.front()))
        bound.options.push_back(std::move(smaller.options.front()));
    }
    return bound;
  }

  /// Returns the largest bound over all prices: it is a concave function of the price, whose maximum is found by
  /// thirds.
  LowerBound cheapest(const Allowed& allowed) const {
    LowerBound free = at_price(0.0, allowed);
    if (problem_.memory() == no_limit || !(free.seconds < unbounded)) return free;
    const auto seconds = [&](double price) { return at_price(price, allowed).seconds; };
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
    LowerBound priced = at_price(high, allowed);
    return priced.seconds > free.seconds ? priced : free;
  }

  const SearchProblem& problem_;
  ExchangePrice price_;
  double all_reduce_;
  double everywhere_ = 0.0;               ///< seconds that every rank computes at least, of all tables
  std::vector<std::vector<Item>> items_;  ///< by kind
};

LowerBound larger(LowerBound a, LowerBound b) { return a.seconds < b.seconds ? b : a; }

}  // namespace

LowerBound lower_bound(const SearchProblem& problem) {
  const Bound small(problem, price_from_start(problem.step(), problem.machine()));
  const Bound large(problem, price_per_byte(problem.step(), problem.machine()));
  LowerBound bound = larger(small.of_total(), large.of_total());
  // Groups hide the shorter of computing and travelling, but for the first group's. Where phases overlap, a step takes
  // at least as long as its busiest resource.
  const auto groups = static_cast<double>(std::max<std::int64_t>(problem.step().groups, 1));
  bound.seconds *= problem.machine().software.overlaps.any() ? 1.0 / step_resources.size() : 0.5 + 0.5 / groups;
  return bound;
}

}  // namespace shardmark::placement
