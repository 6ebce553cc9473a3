// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/search/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "comm/placement/search/annealing.hpp"
#include "comm/placement/search/local_search.hpp"
#include "comm/placement/search/longest_first.hpp"
#include "comm/placement/search/lower_bound.hpp"

namespace shardmark::placement {
namespace {

constexpr std::size_t improved_starts = 3;

/// Ranks that a phase of the search may look at: enough to try every table on every rank many times, within what a
/// core does in about two seconds.
std::int64_t budget_of(const SearchProblem& problem) {
  return std::clamp<std::int64_t>(400 * problem.tables() * (problem.ranks() + 4), 50'000, 10'000'000);
}

/// Decides the choices of a step that depend on the plan as they are for whole tables.
StepContext settled_for_search(const StepContext& step, const MachineModel& machine) {
  StepContext asked_apart = step;
  asked_apart.movement.dedup =
      step.movement.dedup == Dedup::off || step.movement.dedup == Dedup::owner ? step.movement.dedup : Dedup::local;
  Plan plan{.name = "search", .ranks = step.ranks, .tables = {}};
  for (const Table& table : step.tables()) plan.tables.push_back({.shards = {whole(table, 0)}});
  StepContext result = settled(asked_apart, machine, plan);
  result.nodes = Nodes::alone(step.ranks);
  return result;
}

struct SearchCandidate {
  std::string name;
  SearchState state;

  auto order() const { return std::pair(state.score().overflow, state.score().seconds); }
};

/// Returns the candidates, the best first.
std::vector<SearchCandidate> candidates(SearchProblem& problem, std::span<const SearchStart> starts) {
  const std::vector<int> cheapest = lower_bound(problem).options;
  const std::vector<int> whole = whole_tables(problem, cheapest);
  std::vector<SearchCandidate> made;
  const auto add = [&](std::string name, std::vector<Placed> placed) {
    made.push_back({std::move(name), SearchState(problem, std::move(placed))});
  };
  for (const SeatOrder order : {SeatOrder::seconds, SeatOrder::memory}) {
    if (order == SeatOrder::memory && problem.memory() == no_limit) continue;
    add("longest first", longest_first(problem, whole, order));
    add("cheapest options", longest_first(problem, cheapest, order));
  }
  for (const SearchStart& start : starts) add(start.name, problem.adopt(start.placements));
  std::ranges::stable_sort(made, {}, &SearchCandidate::order);
  return made;
}

[[noreturn]] void throw_too_large(const SearchState& state) {
  const SearchProblem& problem = state.problem();
  const auto memory = [&](int rank) { return state.costs(rank)[RankCosts::memory]; };
  int fullest = 0;
  for (int rank = 1; rank < problem.ranks(); ++rank)
    if (memory(rank) > memory(fullest)) fullest = rank;
  double most = 0.0;
  std::int64_t largest = 0;
  for (std::int64_t t = 0; t < problem.tables(); ++t) {
    const Placed& placed = state.placed(t);
    const OptionWork& work = problem.work(t, placed.option);
    double bytes = work.everywhere[RankSums::memory];
    for (std::size_t seat = 0; seat < placed.ranks.size(); ++seat)
      if (placed.ranks[seat] == fullest) bytes += work.seats[seat][RankSums::memory];
    if (bytes > most) largest = t;
    most = std::max(most, bytes);
  }
  throw InputError(
      fmt::format("no plan for {} ranks was found that fits: rank {} needs {:.3f} GB and may fill {:.3f} GB, {:.3f} GB "
                  "too many; its "
                  "largest table is {} with {:.3f} GB. Use more ranks, more memory or a smaller reserve",
                  problem.ranks(), fullest, memory(fullest) / 1e9, problem.memory() / 1e9,
                  (memory(fullest) - problem.memory()) / 1e9,
                  problem.step().tables()[static_cast<std::size_t>(largest)].name, most / 1e9));
}

}  // namespace

std::string SearchReport::text() const {
  return fmt::format(
      "predicted {:.3f} ms; no plan of these options takes less than {:.3f} ms (gap {:.1f} %); {} was the best start, "
      "{:.3f} "
      "ms{}",
      1e3 * seconds, 1e3 * bound, bound > 0.0 ? 100 * (seconds / bound - 1.0) : 0.0, best_start,
      1e3 * best_start_seconds,
      late ? "; the time was over before the search was, so another run may find another plan" : "");
}

SearchResult search(const StepContext& step, const MachineModel& machine, const SearchSettings& settings,
                    std::span<const SearchStart> starts) {
  using Clock = SearchBudget::Clock;
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(settings.seconds));
  const StepContext context = settled_for_search(step, machine);
  SearchProblem problem(context, machine, settings.memory.value_or(no_limit), settings.families);
  std::vector<SearchCandidate> made = candidates(problem, starts);
  SearchReport report{.best_start = made.front().name, .best_start_seconds = made.front().state.score().seconds};
  made.resize(std::min(made.size(), improved_starts), made.front());
  const auto spend = [&](SearchState& state, const auto& improvement) {
    SearchBudget budget(budget_of(problem), deadline);
    improvement(state, budget);
    report.looked_at += budget.spent();
    report.late |= budget.late();
  };
  for (SearchCandidate& candidate : made) spend(candidate.state, improve);
  SearchState best = std::ranges::min_element(made, {}, &SearchCandidate::order)->state;
  if (settings.anneals) {
    spend(best, [&](SearchState& state, SearchBudget& budget) { anneal(state, budget, settings.seed); });
    spend(best, improve);
  }
  // Sums that were added and taken away many times are added up anew.
  const SearchState found(problem, {best.placed().begin(), best.placed().end()});
  if (found.score().overflow > 0.0) throw_too_large(found);
  report.seconds = found.score().seconds;
  report.bound = lower_bound(problem).seconds;
  return {problem.placements(found.placed()), std::move(report)};
}

}  // namespace shardmark::placement
