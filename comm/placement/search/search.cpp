// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/search/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
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

/// Returns how often plans are annealed, each time by other numbers: few tables on few ranks take milliseconds, and one
/// annealing of them in two ends beside the optimum.
std::int64_t times_of_annealing(const SearchProblem& problem) {
  return std::clamp<std::int64_t>(200'000 / budget_of(problem), 1, 4);
}

Plan plan_of(const StepContext& step, std::vector<TablePlacement> placements) {
  return {.name = "search", .ranks = step.ranks, .tables = std::move(placements)};
}

/// Decides the choices of a step that depend on the plan as they are for whole tables.
StepContext settled_for_search(const StepContext& step, const MachineModel& machine) {
  std::vector<TablePlacement> placements;
  for (const Table& table : step.tables()) placements.push_back({.shards = {whole(table, 0)}});
  return settled(step, machine, plan_of(step, std::move(placements)));
}

/// Returns whether what the plan as a whole decides is the same in both.
bool decided_alike(const StepContext& a, const StepContext& b) {
  return a.movement == b.movement && a.at_home == b.at_home;
}

struct SearchCandidate {
  std::string name;
  SearchState state;

  auto order() const { return std::pair(state.score().overflow, state.score().seconds); }
};

/// Returns the candidates, the best first.
std::vector<SearchCandidate> candidates(SearchProblem& problem, std::span<const SearchStart> starts) {
  const std::vector<std::vector<int>> cheapest = lower_bound(problem).options;
  const std::vector<int> whole = whole_tables(problem, cheapest.front());
  std::vector<SearchCandidate> made;
  const auto add = [&](std::string name, std::vector<Placed> placed) {
    made.push_back({std::move(name), SearchState(problem, std::move(placed))});
  };
  for (const SeatOrder order : {SeatOrder::seconds, SeatOrder::memory}) {
    if (order == SeatOrder::memory && problem.memory() == no_limit) continue;
    add("longest first", longest_first(problem, whole, order));
    for (const std::vector<int>& options : cheapest) add("cheapest options", longest_first(problem, options, order));
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

/// Searches in a step whose choices are settled.
SearchResult search_settled(const StepContext& context, const MachineModel& machine, const SearchSettings& settings,
                            std::span<const SearchStart> starts, SearchBudget::Clock::time_point deadline) {
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
  const SearchState improved = std::ranges::min_element(made, {}, &SearchCandidate::order)->state;
  SearchState best = improved;
  const auto times = settings.anneals ? static_cast<std::uint64_t>(times_of_annealing(problem)) : 0;
  for (std::uint64_t time = 0; time < times; ++time) {
    SearchState state = improved;
    spend(state, [&](SearchState& of, SearchBudget& budget) { anneal(of, budget, settings.seed + time); });
    spend(state, improve);
    if (state.score().better_than(best.score())) best = std::move(state);
  }
  // Sums that were added and taken away many times are added up anew.
  const SearchState found(problem, {best.placed().begin(), best.placed().end()});
  if (found.score().overflow > 0.0) throw_too_large(found);
  report.seconds = found.score().seconds;
  report.bound = lower_bound(problem).seconds;
  return {problem.placements(found.placed()), std::move(report)};
}

/// Returns the faster of two searches, with the bound of both.
SearchResult better(SearchResult one, SearchResult two) {
  one.report.bound = two.report.bound = std::min(one.report.bound, two.report.bound);
  return two.report.seconds < one.report.seconds ? std::move(two) : std::move(one);
}

/// Searches in a step as `context` settles it; where the plan found settles it otherwise, again as that one does. The
/// plans are predicted in the step itself.
SearchResult search_in(const StepContext& step, const StepContext& context, const MachineModel& machine,
                       const SearchSettings& settings, std::span<const SearchStart> starts,
                       SearchBudget::Clock::time_point deadline) {
  const auto predict = [&](SearchResult& result) {
    result.report.seconds = predict_step(step, machine, plan_of(step, result.placements)).seconds;
  };
  SearchResult found = search_settled(context, machine, settings, starts, deadline);
  const StepContext of_found = settled(step, machine, plan_of(step, found.placements));
  if (decided_alike(context, of_found)) return found;
  predict(found);
  try {
    const SearchStart start{found.report.best_start, found.placements};
    SearchResult again = search_settled(of_found, machine, settings, std::span(&start, 1), deadline);
    predict(again);
    return better(std::move(found), std::move(again));
  } catch (const InputError&) {
    return found;  // decided so, it needs more memory than there is
  }
}

/// Returns the step in which transfer auto sends all row splits as node_partials (rails_pay()); nothing where it
/// cannot.
std::optional<StepContext> settled_by_rails(const StepContext& step, StepContext settled) {
  if (step.movement.transfer != RowTransfer::automatic || !settled.nodes.even() || any_pools_by_max(step.features()))
    return std::nullopt;
  settled.movement.transfer = RowTransfer::node_partials;
  return settled;
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
  const auto begin = SearchBudget::Clock::now();
  const auto after = [&](double share) {
    return begin + std::chrono::duration_cast<SearchBudget::Clock::duration>(
                       std::chrono::duration<double>(share * settings.seconds));
  };
  const StepContext context = settled_for_search(step, machine);
  const std::optional<StepContext> by_rails = settled_by_rails(step, context);
  SearchResult found = search_in(step, context, machine, settings, starts, after(by_rails ? 0.5 : 1.0));
  if (!by_rails) return found;
  try {
    SearchResult of_rails = search_in(step, *by_rails, machine, settings, starts, after(1.0));
    return better(std::move(found), std::move(of_rails));
  } catch (const InputError&) {
    return found;  // its sums need more memory than there is
  }
}

}  // namespace shardmark::placement
