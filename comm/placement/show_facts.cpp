// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>

#include "comm/placement/idle_ranks.hpp"
#include "comm/placement/show.hpp"

namespace shardmark::placement {
namespace {

/// What one table is to one rank.
RankWork work_on(const TableWork& work, int rank) {
  RankWork sum = work.everywhere;
  for (const auto& [owner, of_owner] : work.at)
    if (owner == rank) sum += of_owner;
  return sum;
}

/// Sums amount_of(work of a table on the rank), and finds the tables that have most of it.
template <class Amount>
BusiestRank busiest(const StepContext& step, const MachineModel& machine, const Plan& plan, int rank,
                    const Amount& amount_of) {
  BusiestRank busiest{.rank = rank, .amount = 0.0, .tables = {}};
  for (std::int64_t t = 0; t < std::ssize(plan.tables); ++t) {
    const double amount = amount_of(work_on(table_work(step, machine, t, plan.tables[t]), rank));
    busiest.amount += amount;
    if (amount > 0.0) busiest.tables.push_back({t, amount});
  }
  const auto most = std::min<std::ptrdiff_t>(5, std::ssize(busiest.tables));
  std::ranges::partial_sort(busiest.tables, busiest.tables.begin() + most, std::greater{}, &TableShare::amount);
  busiest.tables.resize(most);
  return busiest;
}

int rank_of_most(const std::vector<double>& of_ranks) {
  return static_cast<int>(std::ranges::max_element(of_ranks) - of_ranks.begin());
}

}  // namespace

std::string ranges_of(const std::vector<int>& ranks) {
  std::string text;
  for (auto first = ranks.begin(); first != ranks.end();) {
    auto last = first;
    while (std::next(last) != ranks.end() && *std::next(last) == *last + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", *first);
    if (last != first) text += fmt::format("-{}", *last);
    first = std::next(last);
  }
  return text;
}

std::string ranks_of(const TablePlacement& placement) {
  if (placement.data_parallel) return "all";
  std::set<int> ranks;
  for (const Shard& shard : placement.shards) ranks.insert(shard.rank);
  return ranges_of({ranks.begin(), ranks.end()});
}

std::vector<double> ids_per_sample(const StepContext& step, const Plan& plan) {
  std::vector<double> ids(static_cast<std::size_t>(plan.ranks));
  for (std::int64_t t = 0; t < std::ssize(plan.tables); ++t) {
    const auto ids_of = [&](const RowSet& rows) {
      return step.statistics.expected(t, rows, step.global_batch).ids / static_cast<double>(step.global_batch);
    };
    const TablePlacement& placement = plan.tables[t];
    if (has_replicas(placement))
      for (const double each = ids_of(replicated_rows(placement, step.tables()[t])) / plan.ranks; double& rank : ids)
        rank += each;
    for (const Shard& shard : placement.shards) ids[shard.rank] += ids_of(shard.rows);
  }
  return ids;
}

PlanFacts facts_of(const StepContext& step, const MachineModel& machine, const Plan& plan) {
  StepContext whole = settled(step, machine, plan);
  PlanFacts facts;
  const StepWork work = step_work(whole, machine, plan);
  facts.step = predict_work(whole, machine, work);
  facts.idle = idle_ranks(plan);
  const auto loads = loads_of(plan, step.tables());
  const auto ids = ids_per_sample(step, plan);
  for (std::size_t r = 0; r < loads.size(); ++r)
    facts.ranks.push_back(
        {loads[r], facts.step.memory[r], ids[r], facts.step.sent[r], facts.step.received[r], facts.step.computing[r]});
  whole.groups = 0;  // what a step takes whatever the tables is of none of them
  const int slowest = rank_of_most(facts.step.rank_seconds);
  facts.slowest = busiest(whole, machine, plan, slowest, [&](RankWork of_table) {
    of_table.sorted_keys = work.ranks[slowest].sorted_keys;  // one sort takes all tables
    const auto seconds = compute_seconds(machine, finished_counts(whole, of_table));
    return std::accumulate(seconds.begin(), seconds.end(), 0.0);
  });
  facts.slowest.amount = facts.step.rank_seconds[slowest];
  facts.fullest = busiest(whole, machine, plan, rank_of_most(facts.step.memory), std::mem_fn(&RankWork::memory));
  return facts;
}

}  // namespace shardmark::placement
