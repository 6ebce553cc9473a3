// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/show.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>

#include "comm/placement/show_columns.hpp"
#include "reference/storage.hpp"

namespace shardmark::placement {
namespace {

/// The values of all ranks, ascending.
std::vector<double> sorted_values(const RankColumn& column, std::span<const RankFacts> ranks) {
  std::vector<double> values;
  std::ranges::transform(ranks, std::back_inserter(values), column.value);
  std::ranges::sort(values);
  return values;
}

/// Max over ranks divided by the mean; 1 when there is nothing.
double imbalance(const std::vector<double>& sorted) {
  const double sum = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  return sum > 0.0 ? sorted.back() * static_cast<double>(sorted.size()) / sum : 1.0;
}

/// "NAME" and a text for each column.
template <class Text>
std::string row(std::string_view name, const Text& text_of) {
  std::string text = fmt::format("{:>9}", name);
  for (const RankColumn& column : rank_columns) text += text_of(column);
  return text + "\n";
}

std::string rank_row(const PlanFacts& facts, int rank) {
  return row(std::to_string(rank),
             [&](const RankColumn& column) { return column.text(column.value(facts.ranks[rank])); });
}

/// Ranks that have most of a column, each once.
std::set<int> extreme_ranks(const PlanFacts& facts) {
  std::set<int> extreme;
  for (const RankColumn& column : rank_columns)
    extreme.insert(static_cast<int>(std::ranges::max_element(facts.ranks, {}, column.value) - facts.ranks.begin()));
  return extreme;
}

std::string per_rank(const PlanFacts& facts) {
  std::string text =
      row("rank", [](const RankColumn& column) { return fmt::format("{:>{}}", column.heading, column.width); });
  const auto of_all = [&](std::string_view name, auto pick) {
    return row(name, [&](const RankColumn& column) { return column.text(pick(sorted_values(column, facts.ranks))); });
  };
  if (facts.ranks.size() <= most_ranks) {
    for (int rank = 0; rank < std::ssize(facts.ranks); ++rank) text += rank_row(facts, rank);
  } else {
    text += of_all("least", [](const auto& sorted) { return sorted.front(); });
    text += of_all("median", [](const auto& sorted) { return sorted[sorted.size() / 2]; });
    text += of_all("most", [](const auto& sorted) { return sorted.back(); });
  }
  text += row("imbalance", [&](const RankColumn& column) {
    return fmt::format("{:>{}.2f}", imbalance(sorted_values(column, facts.ranks)), column.width);
  });
  if (facts.ranks.size() <= most_ranks) return text;
  text += "Ranks that have most of something:\n";
  for (const int rank : extreme_ranks(facts)) text += rank_row(facts, rank);
  return text;
}

std::string per_phase(const StepPrediction& step) {
  std::string text = fmt::format("{:<11} {:>10} {:>12} {:>12} {:>10} {:>10}\n", "phase", "ms", "exchange ms",
                                 "slowest rank", "its ms", "imbalance");
  for (std::size_t p = 0; p < phase_count; ++p) {
    const PhasePrediction& phase = step.phases[p];
    if (phase.seconds > 0.0)
      text += fmt::format("{:<11} {:>10.3f} {:>12.3f} {:>12} {:>10.3f} {:>10.2f}\n", phase_names[p],
                          1e3 * phase.seconds, 1e3 * phase.exchange, phase.slowest_rank,
                          1e3 * (phase.seconds - phase.exchange), imbalance_of(phase));
  }
  return text + fmt::format("{:<11} {:>10.3f}\n", "step", 1e3 * step.seconds);
}

/// Returns whether the table can share a line with its neighbour. tables: as they are stored.
bool shown_alike(const Plan& plan, std::span<const Table> tables, std::size_t a, std::size_t b) {
  return tables[a].rows == tables[b].rows && tables[a].dim == tables[b].dim &&
         bytes_of(tables[a]) == bytes_of(tables[b]) && kind_of(plan.tables[a]) == kind_of(plan.tables[b]) &&
         shards_of(plan.tables[a], plan.ranks) == shards_of(plan.tables[b], plan.ranks);
}

/// Returns the ranks of tables [first, end), which are shown alike.
std::string ranks_of_all(const Plan& plan, std::size_t first, std::size_t end) {
  std::set<int> ranks;
  for (std::size_t t = first; t < end; ++t) {
    if (plan.tables[t].data_parallel) return "all";
    for (const Shard& shard : plan.tables[t].shards) ranks.insert(shard.rank);
  }
  const std::string text = ranges_of({ranks.begin(), ranks.end()});
  constexpr std::size_t longest = 16;
  return text.size() <= longest ? text : fmt::format("{} ranks", ranks.size());
}

std::string per_table(const Plan& plan, std::span<const Table> tables) {
  std::string lines;
  std::size_t width = 5;
  std::vector<std::pair<std::size_t, std::size_t>> groups;  // [first, end)
  for (std::size_t t = 0; t < tables.size(); ++t) {
    if (t > 0 && tables.size() > most_tables && shown_alike(plan, tables, t - 1, t))
      groups.back().second = t + 1;
    else
      groups.emplace_back(t, t + 1);
  }
  const auto name_of_group = [&](std::size_t first, std::size_t end) {
    return end - first == 1 ? tables[first].name : fmt::format("{} and {} more", tables[first].name, end - first - 1);
  };
  for (const auto& [first, end] : groups) width = std::max(width, name_of_group(first, end).size());
  std::string text = fmt::format("{:<{}} {:>12} {:>5} {:>12}  {:<19} {:>7}  {}\n", "table", width, "rows", "dim", "MB",
                                 "placement", "shards", "ranks");
  for (const auto& [first, end] : groups) {
    const Table& table = tables[first];
    const TablePlacement& placement = plan.tables[first];
    text += fmt::format("{:<{}} {:>12} {:>5} {:>12.3f}  {:<19} {:>7}  {}{}\n", name_of_group(first, end), width,
                        table.rows, table.dim, static_cast<double>(bytes_of(table)) / 1e6, kind_of(placement),
                        shards_of(placement, plan.ranks), ranks_of_all(plan, first, end),
                        storage_of(table).splits ? "" : fmt::format(", {}", name_of(table.storage)));
  }
  return text;
}

std::string busiest_text(std::string_view what, const BusiestRank& busiest, std::span<const Table> tables, double unit,
                         std::string_view unit_name) {
  std::string text = fmt::format("{} rank {}: {:.3f} {}\n", what, busiest.rank, busiest.amount / unit, unit_name);
  for (const TableShare& share : busiest.tables)
    text += fmt::format("  {:>12.3f} {}  {:5.1f} %  {}\n", share.amount / unit, unit_name,
                        100.0 * share.amount / busiest.amount, tables[share.table].name);
  return text;
}

}  // namespace

std::string show(const PlanFacts& facts, const Plan& plan, std::span<const Table> tables) {
  std::string text = fmt::format("plan '{}' for {} ranks, {} tables\n", plan.name, plan.ranks, tables.size());
  if (!facts.idle.empty()) {
    const std::string ranks = ranges_of(facts.idle);
    constexpr std::size_t longest = 80;
    text +=
        fmt::format("{} of the ranks hold nothing{}\n", facts.idle.size(), ranks.size() > longest ? "" : ": " + ranks);
  }
  return fmt::format("{}\n{}\n{}\n{}\n{}{}", text, per_rank(facts), per_phase(facts.step),
                     per_table(plan, stored(tables, plan)), busiest_text("slowest", facts.slowest, tables, 1e-3, "ms"),
                     busiest_text("fullest", facts.fullest, tables, 1e6, "MB"));
}

}  // namespace shardmark::placement
