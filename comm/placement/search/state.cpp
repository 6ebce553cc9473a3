// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/search/state.hpp"

#include <algorithm>

namespace shardmark::placement {
namespace {

constexpr double rounding_of_scores = 1e-9;

}  // namespace

bool Score::better_than(const Score& other) const {
  const double bytes = 1.0 + rounding_of_scores * other.overflow;
  if (overflow < other.overflow - bytes) return true;
  if (overflow > other.overflow + bytes) return false;
  if (seconds < other.seconds * (1.0 - rounding_of_scores)) return true;
  if (seconds > other.seconds * (1.0 + rounding_of_scores)) return false;
  return squares < other.squares * (1.0 - rounding_of_scores);
}

SearchState::SearchState(const SearchProblem& problem, std::vector<Placed> placed)
    : problem_(&problem),
      placed_(std::move(placed)),
      strips_(placed_.size()),
      on_rank_(static_cast<std::size_t>(problem.ranks())),
      sums_(on_rank_.size()),
      costs_(on_rank_.size()),
      touched_at_(on_rank_.size(), -1) {
  for (std::int64_t t = 0; t < problem.tables(); ++t) {
    const OptionWork& work = problem.work(t, this->placed(t).option);
    const std::vector<PlacedStrip>& strips = strips_[static_cast<std::size_t>(t)] =
        work.strips.placed(this->placed(t).ranks);
    gather_seats(work, this->placed(t), strips, false);
    gather_shared(work, false);
    for (const PlacedStrip& strip : strips) gather_shared(*strip.parts, false);
    for (const int rank : this->placed(t).ranks) on_rank_[static_cast<std::size_t>(rank)].push_back(t);
  }
  changes_all_ = true;
  commit();
}

RankSums& SearchState::touched(int rank) {
  int& at = touched_at_[static_cast<std::size_t>(rank)];
  if (at < 0) {
    at = static_cast<int>(touched_.size());
    touched_.push_back({rank, {}});
  }
  return touched_[static_cast<std::size_t>(at)].by;
}

void SearchState::gather_seats(const OptionWork& work, const Placed& placed, std::span<const PlacedStrip> strips,
                               bool leaves) {
  const auto add = [&](int rank, const RankSums& sums) { leaves ? touched(rank) -= sums : touched(rank) += sums; };
  for (std::size_t seat = 0; seat < placed.ranks.size(); ++seat) add(placed.ranks[seat], work.seats[seat]);
  for (const PlacedStrip& strip : strips)
    add_to_ranks(*strip.parts, problem_->step().nodes, strip.owners, strip.adds, add);
}

template <class Work>
void SearchState::gather_shared(const Work& work, bool leaves) {
  leaves ? everywhere_by_ -= work.everywhere : everywhere_by_ += work.everywhere;
  leaves ? totals_by_ -= work.totals : totals_by_ += work.totals;
}

void SearchState::gather(const Change& change) {
  const Placed &from = placed(change.table), &to = change.to;
  const OptionWork &before = problem_->work(change.table, from.option),
                   &after = problem_->work(change.table, to.option);
  const std::vector<PlacedStrip>& left = strips_[static_cast<std::size_t>(change.table)];
  const std::vector<PlacedStrip> entered = after.strips.placed(to.ranks);
  gather_seats(before, from, left, true);
  gather_seats(after, to, entered, false);
  const bool moves = from.option == to.option;
  if (!moves) {
    gather_shared(before, true);
    gather_shared(after, false);
  }
  for (std::size_t s = 0; s < std::max(left.size(), entered.size()); ++s) {
    // What is the same before and after is left out, so that no rounding of it changes what every rank has.
    if (moves && left[s].parts == entered[s].parts) continue;
    if (s < left.size()) gather_shared(*left[s].parts, true);
    if (s < entered.size()) gather_shared(*entered[s].parts, false);
  }
}

void SearchState::gather(std::span<const Change> changes) {
  for (const Change& change : changes) gather(change);
  changes_all_ = everywhere_by_ != RankSums{};
}

void SearchState::forget() {
  for (const Touched& touched : touched_) touched_at_[static_cast<std::size_t>(touched.rank)] = -1;
  touched_.clear();
  everywhere_by_ = {};
  totals_by_ = {};
  changes_all_ = false;
}

RankSums SearchState::sums_with(std::size_t rank) const {
  RankSums sums = sums_[rank];
  if (touched_at_[rank] >= 0) sums += touched_[static_cast<std::size_t>(touched_at_[rank])].by;
  sums += everywhere_;
  if (changes_all_) sums += everywhere_by_;
  return sums;
}

RankCosts SearchState::costs_with(std::size_t rank) const {
  if (touched_at_[rank] < 0 && !changes_all_) return costs_[rank];
  return problem_->seconds().costs(sums_with(rank));
}

Score SearchState::with(std::span<const Change> changes) {
  gather(changes);
  const bool all = changes_all_ || !problem_->seconds().follows_from_busiest();
  work_ += all ? problem_->ranks() : std::ssize(touched_) + 1;
  const Score score = all ? evaluate_all() : evaluate_touched();
  forget();
  return score;
}

RankCosts SearchState::most_of_untouched() const {
  RankCosts most;
  bool known = true;
  for (std::size_t cost = 0; cost < cost_kinds() && known; ++cost) {
    const auto untouched = [&](int rank) { return rank >= 0 && touched_at_[static_cast<std::size_t>(rank)] < 0; };
    const auto first = std::ranges::find_if(most_[cost], untouched);
    known = first != most_[cost].end();
    if (known) most[cost] = costs(*first)[cost];
  }
  if (known) return most;
  for (std::size_t rank = 0; rank < costs_.size(); ++rank)
    if (touched_at_[rank] < 0) most.raise_to(costs_[rank]);
  return most;
}

Score SearchState::evaluate_touched() {
  RankCosts most = most_of_untouched(), sum = all_;
  double squares = score_.squares;
  for (const Touched& touched : touched_) {
    const auto rank = static_cast<std::size_t>(touched.rank);
    const RankCosts after = costs_with(rank);
    most.raise_to(after);
    (sum += after) -= costs_[rank];
    squares += after.squares() - costs_[rank].squares();
  }
  add_touched_to(bytes_, 1.0);
  const Score score{overflow_with(most[RankCosts::memory]), seconds(most, sum, bytes_), squares};
  add_touched_to(bytes_, -1.0);
  return score;
}

Score SearchState::evaluate_all() const {
  RankCosts most, sum;
  Score score;
  for (std::size_t rank = 0; rank < costs_.size(); ++rank) {
    const RankCosts after = costs_with(rank);
    most.raise_to(after);
    sum += after;
    score.squares += after.squares();
    score.overflow += std::max(0.0, after[RankCosts::memory] - problem_->memory());
  }
  score.seconds = seconds(most, sum, exchanged_bytes());
  return score;
}

SearchState::ExchangedBytes SearchState::exchanged_bytes() const {
  const StepSeconds& step = problem_->seconds();
  ExchangedBytes bytes;
  if (step.follows_from_busiest() && !step.has_nodes()) return bytes;
  for (auto& of_phase : bytes) of_phase.resize(step.follows_from_busiest() ? problem_->nodes() : costs_.size());
  for (std::size_t rank = 0; rank < costs_.size(); ++rank) {
    const std::size_t to = step.follows_from_busiest() ? problem_->node_of(rank) : rank;
    const RankSums* by = touched_at_[rank] < 0 ? nullptr : &touched_[static_cast<std::size_t>(touched_at_[rank])].by;
    for (std::size_t w = 0; w < exchanged_kinds(); ++w) {
      const std::size_t place = RankSums::exchanged + w;
      bytes[w][to] += sums_[rank][place] + everywhere_[place] + everywhere_by_[place] + (by ? (*by)[place] : 0.0);
    }
  }
  return bytes;
}

double SearchState::seconds(const RankCosts& most, const RankCosts& all, const ExchangedBytes& bytes) const {
  const StepSeconds& step = problem_->seconds();
  StepTotals totals = totals_;
  totals += totals_by_;
  std::array<ExchangeTime, exchange_phases> exchanges;
  for (std::size_t w = 0; w < exchange_phases; ++w) {
    const auto &to_all = bytes[w], &in_node = bytes[exchange_phases + w], &on_rail = bytes[2 * exchange_phases + w];
    exchanges[w] = step.follows_from_busiest() ? ExchangeTime{step.exchange(w, most, all, to_all, on_rail)}
                                               : step.exchange(RankBytes{to_all, in_node, on_rail});
  }
  return step.step(most, exchanges, totals);
}

void SearchState::add_touched_to(ExchangedBytes& bytes, double sign) const {
  if (bytes[0].empty()) return;
  for (const Touched& touched : touched_)
    for (std::size_t w = 0; w < exchanged_kinds(); ++w)
      bytes[w][problem_->node_of(static_cast<std::size_t>(touched.rank))] += sign * touched.by[RankSums::exchanged + w];
}

double SearchState::overflow_with(double most_memory) const {
  if (most_memory <= problem_->memory()) return 0.0;
  double overflow = 0.0;
  for (std::size_t rank = 0; rank < costs_.size(); ++rank)
    overflow += std::max(0.0, sums_with(rank)[RankSums::memory] - problem_->memory());
  return overflow;
}

void SearchState::apply(std::span<const Change> changes) {
  gather(changes);
  for (const auto& [table, to] : changes) {
    for (const int rank : placed(table).ranks) std::erase(on_rank_[static_cast<std::size_t>(rank)], table);
    for (const int rank : to.ranks) on_rank_[static_cast<std::size_t>(rank)].push_back(table);
    placed_[static_cast<std::size_t>(table)] = to;
    strips_[static_cast<std::size_t>(table)] = problem_->work(table, to.option).strips.placed(to.ranks);
  }
  commit();
}

void SearchState::commit() {
  const bool all = changes_all_ || !problem_->seconds().follows_from_busiest();
  if (!all) {
    score_ = evaluate_touched();
    add_touched_to(bytes_, 1.0);
  }
  const auto price = [&](std::size_t rank) {
    all_ -= costs_[rank];
    all_ += costs_[rank] = costs_with(rank);
  };
  if (all)
    for (std::size_t rank = 0; rank < costs_.size(); ++rank) price(rank);
  else
    for (const Touched& touched : touched_) price(static_cast<std::size_t>(touched.rank));
  for (const Touched& touched : touched_) sums_[static_cast<std::size_t>(touched.rank)] += touched.by;
  everywhere_ += everywhere_by_;
  totals_ += totals_by_;
  for (std::size_t cost = 0; cost < cost_kinds(); ++cost)
    if (all || !insert_touched(cost)) rank_by(cost);
  forget();
  if (!all) return;
  bytes_ = exchanged_bytes();
  score_ = evaluate_all();
}

bool SearchState::insert_touched(std::size_t cost) {
  auto& most = most_[cost];
  const auto may_fall = [&](int rank) { return rank < 0 || touched_at_[static_cast<std::size_t>(rank)] >= 0; };
  if (std::ranges::any_of(most, may_fall)) return false;
  for (const Touched& touched : touched_) {
    const double value = costs(touched.rank)[cost];
    if (value <= costs(most.back())[cost]) continue;
    std::size_t at = kept - 1;
    for (; at > 0 && value > costs(most[at - 1])[cost]; --at) most[at] = most[at - 1];
    most[at] = touched.rank;
  }
  return true;
}

/// Inserts each rank into those kept so far, which are in falling order.
void SearchState::rank_by(std::size_t cost) {
  auto& most = most_[cost];
  std::size_t known = 0;
  for (int rank = 0; rank < problem_->ranks(); ++rank) {
    const double value = costs(rank)[cost];
    if (known == kept && value <= costs(most.back())[cost]) continue;
    std::size_t at = known < kept ? known++ : kept - 1;
    for (; at > 0 && value > costs(most[at - 1])[cost]; --at) most[at] = most[at - 1];
    most[at] = rank;
  }
  std::fill(most.begin() + static_cast<std::ptrdiff_t>(known), most.end(), -1);
}

std::vector<int> SearchState::critical_ranks() const {
  std::vector<int> ranks;
  for (std::size_t cost = 0; cost < cost_kinds(); ++cost) {
    if (cost == RankCosts::memory && score_.overflow == 0.0) continue;
    const int rank = most_[cost].front();
    if (costs(rank)[cost] > 0.0 && std::ranges::find(ranks, rank) == ranks.end()) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace shardmark::placement
