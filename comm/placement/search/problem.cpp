// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/search/problem.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

namespace shardmark::placement {
namespace {

static_assert(std::is_nothrow_move_constructible_v<OptionWork>, "a vector of them that grows keeps their strips");

using FeatureReadings = std::vector<decltype(reading_of(Feature{}))>;

/// Readings of the features of each table, sorted.
std::vector<FeatureReadings> reads_of(const StepContext& step) {
  std::vector<FeatureReadings> reads(step.tables().size());
  for (const Feature& feature : step.features())
    reads[static_cast<std::size_t>(feature.table)].push_back(reading_of(feature));
  for (FeatureReadings& of_table : reads) std::ranges::sort(of_table);
  return reads;
}

bool alike(const Table& a, const Table& b) {
  return a.rows == b.rows && a.dim == b.dim && a.optimizer == b.optimizer && a.storage == b.storage &&
         a.value_type == b.value_type && a.stochastic_rounding == b.stochastic_rounding &&
         a.tensor_train == b.tensor_train;
}

std::vector<int> identity(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// Returns whether each so many of these ranks after each other are on one node.
bool lie_together(const Nodes& nodes, std::span<const int> ranks, int together) {
  for (std::size_t k = 0; k < ranks.size(); ++k)
    if (k % static_cast<std::size_t>(together) > 0 && nodes.of(ranks[k]) != nodes.of(ranks[k - 1])) return false;
  return true;
}

/// Adds what a table is to ranks, which are seats where it is placed on the first ones.
void add_to_seats(std::vector<RankSums>& seats, const TableWork& work, const MachineModel& machine) {
  for (const auto& [rank, of_rank] : work.at)
    if (std::cmp_less(rank, seats.size())) seats[static_cast<std::size_t>(rank)] += sums_of(of_rank, machine);
}

OptionWork option_work(const StepContext& step, const MachineModel& machine, const StepSeconds& seconds,
                       std::int64_t table, const TableOption& option) {
  const int seats = option.seats();
  const TablePlacement placement = option.at(identity(seats));
  const TableWork whole = table_work(step, machine, table, placement);
  std::vector<RankSums> of_seats(static_cast<std::size_t>(seats));
  add_to_seats(of_seats, whole, machine);
  OptionWork made{.everywhere = sums_of(whole.everywhere, machine),
                  .seats = of_seats,
                  .totals = whole.totals,
                  .strips = NodeStrips(step, machine, table, placement),
                  .weights = {},
                  .heaviest = identity(seats)};
  if (!made.strips.empty()) {
    const TableWork fixed = work_without_strips(TableSums(step, machine, table, placement));
    made.everywhere = sums_of(fixed.everywhere, machine);
    made.seats.assign(made.seats.size(), {});
    add_to_seats(made.seats, fixed, machine);
    made.totals = fixed.totals;
  }
  // Of what a rank sends, the first message is no matter of how much it has.
  const auto weight = [&](const RankSums& sums) {
    RankSums twice = sums;
    return seconds.costs(twice += sums).seconds() - seconds.costs(sums).seconds();
  };
  for (const RankSums& seat : of_seats) made.weights.push_back(weight(seat));
  if (const int last = option.together == 0 ? 0 : seats % step.ranks_per_node; last > 0) {
    const auto other = std::ranges::find(whole.at, seats, &std::pair<int, RankWork>::first);
    if (other != whole.at.end()) made.beside = weight(sums_of(other->second, machine)) * option.together / last;
  }
  std::ranges::stable_sort(made.heaviest, [&](int a, int b) {
    return made.weights[static_cast<std::size_t>(a)] > made.weights[static_cast<std::size_t>(b)];
  });
  return made;
}

bool costs_alike(const OptionWork& a, const OptionWork& b) {
  return a.everywhere == b.everywhere && a.seats == b.seats && a.totals == b.totals && a.strips == b.strips;
}

}  // namespace

SearchProblem::SearchProblem(const StepContext& step, const MachineModel& machine, double memory,
                             std::span<const std::string_view> families)
    : step_(step), machine_(machine), memory_(memory), seconds_(step, machine) {
  const auto reads = reads_of(step);
  for (std::int64_t t = 0; t < std::ssize(step.tables()); ++t) {
    const auto as_kind = [&](const TableKind& kind) {
      const auto first = static_cast<std::size_t>(kind.tables.front()), number = static_cast<std::size_t>(t);
      return step.statistics.alike(kind.tables.front(), t) && reads[first] == reads[number] &&
             alike(step.tables()[first], step.tables()[number]);
    };
    const auto known = std::ranges::find_if(kinds_, as_kind);
    kind_.push_back(static_cast<std::size_t>(known - kinds_.begin()));
    if (known == kinds_.end()) kinds_.emplace_back();
    kinds_[kind_.back()].tables.push_back(t);
  }
  for (TableKind& kind : kinds_) {
    const TableToPlace place{step.statistics, kind.tables.front(), step.ranks, step.ranks_per_node};
    for (const TableOption& option : table_options(place, step.movement, families)) add_option(kind, option);
    kind.proposed = static_cast<int>(std::ssize(kind.options));
  }
}

int SearchProblem::add_option(TableKind& kind, const TableOption& option) {
  // Where work depends on no node, seats that fill nodes are no more than seats on any ranks.
  const auto seated_alike = [&](std::size_t known) {
    const TableOption& other = kind.options[known];
    return other.in_order == option.in_order && (other.together == option.together || kind.works[known].strips.empty());
  };
  for (std::size_t known = 0; known < kind.options.size(); ++known)
    if (kind.options[known].placement == option.placement && seated_alike(known)) return static_cast<int>(known);
  OptionWork work = option_work(step_, machine_, seconds_, kind.tables.front(), option);
  for (std::size_t known = 0; known < kind.works.size(); ++known)
    if (costs_alike(work, kind.works[known]) && seated_alike(known)) return static_cast<int>(known);
  depends_on_nodes_ |= !work.strips.empty();
  kind.options.push_back(option);
  kind.works.push_back(std::move(work));
  return static_cast<int>(std::ssize(kind.works)) - 1;
}

std::vector<Placed> SearchProblem::adopt(std::span<const TablePlacement> placements) {
  std::vector<Placed> placed;
  for (std::size_t t = 0; t < placements.size(); ++t) {
    SeatedOption seats = seated(placements[t]);
    TableKind& kind = kinds_[kind_[t]];
    for (const TableOption& known : kind.options)
      if (known.together > 0 && !known.in_order && known.placement == seats.option.placement &&
          lie_together(step_.nodes, seats.ranks, known.together))
        seats.option.together = known.together;
    placed.push_back({add_option(kind, seats.option), std::move(seats.ranks)});
  }
  return placed;
}

std::vector<TablePlacement> SearchProblem::placements(std::span<const Placed> placed) const {
  std::vector<TablePlacement> placements;
  for (std::size_t t = 0; t < placed.size(); ++t)
    placements.push_back(option(static_cast<std::int64_t>(t), placed[t].option).at(placed[t].ranks));
  return placements;
}

}  // namespace shardmark::placement
