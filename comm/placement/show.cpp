// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/show.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>

namespace shardmark {
namespace {

double megabytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

/// Max over ranks divided by the mean; 1 when nobody holds anything.
template <class Loads, class Amount>
double imbalance(const Loads& loads, Amount amount) {
  double sum = 0, largest = 0;
  for (const auto& load : loads) {
    const auto value = static_cast<double>(amount(load));
    sum += value;
    largest = std::max(largest, value);
  }
  return sum > 0 ? largest * static_cast<double>(std::size(loads)) / sum : 1.0;
}

/// "0-3,7"
std::string ranges_of(const std::set<int>& ranks) {
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
  return ranges_of(ranks);
}

std::string per_rank(const std::vector<RankLoad>& loads, const std::vector<double>& ids) {
  std::string text = fmt::format("{:>9} {:>7} {:>14} {:>12} {:>12} {:>12}\n", "rank", "tables", "rows", "tables MB",
                                 "state MB", "ids/sample");
  for (std::size_t rank = 0; rank < loads.size(); ++rank)
    text +=
        fmt::format("{:>9} {:>7} {:>14} {:>12.3f} {:>12.3f} {:>12.3f}\n", rank, loads[rank].tables, loads[rank].rows,
                    megabytes(loads[rank].table_bytes), megabytes(loads[rank].state_bytes), ids[rank]);
  const auto of = [&](auto amount) {
    return imbalance(loads, [&](const RankLoad& load) { return std::invoke(amount, load); });
  };
  return text + fmt::format("{:>9} {:>7.2f} {:>14.2f} {:>12.2f} {:>12.2f} {:>12.2f}\n", "imbalance",
                            of(&RankLoad::tables), of(&RankLoad::rows), of(&RankLoad::table_bytes),
                            of(&RankLoad::state_bytes), imbalance(ids, [](double value) { return value; }));
}

std::string per_table(const Plan& plan, std::span<const Table> tables) {
  std::size_t width = 5;
  for (const Table& table : tables) width = std::max(width, table.name.size());
  std::string text = fmt::format("{:<{}} {:>12} {:>5} {:>12}  {:<13} {:>7}  {}\n", "table", width, "rows", "dim", "MB",
                                 "placement", "shards", "ranks");
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const TablePlacement& placement = plan.tables[t];
    const RankLoad load = load_of(whole(tables[t], 0), tables[t]);
    text += fmt::format("{:<{}} {:>12} {:>5} {:>12.3f}  {:<13} {:>7}  {}\n", tables[t].name, width, tables[t].rows,
                        tables[t].dim, megabytes(load.bytes()), kind_of(placement),
                        placement.data_parallel ? plan.ranks : std::ssize(placement.shards), ranks_of(placement));
  }
  return text;
}

std::int64_t bytes_on(const TablePlacement& placement, const Table& table, int rank) {
  if (placement.data_parallel) return load_of(whole(table, rank), table).bytes();
  std::int64_t bytes = 0;
  for (const Shard& shard : placement.shards)
    if (shard.rank == rank) bytes += load_of(shard, table).bytes();
  return bytes;
}

std::string fullest_rank(const Plan& plan, std::span<const Table> tables, const std::vector<RankLoad>& loads) {
  const auto fullest = std::ranges::max_element(loads, {}, &RankLoad::bytes);
  const auto rank = static_cast<int>(std::distance(loads.begin(), fullest));
  std::vector<std::pair<std::int64_t, std::size_t>> parts;  // bytes, table
  for (std::size_t t = 0; t < tables.size(); ++t) parts.emplace_back(bytes_on(plan.tables[t], tables[t], rank), t);
  const auto largest = std::min<std::ptrdiff_t>(5, std::ssize(parts));
  std::ranges::partial_sort(parts, parts.begin() + largest, std::greater{},
                            [](const auto& part) { return part.first; });
  std::string text = fmt::format("fullest rank {}: {:.3f} MB\n", rank, megabytes(fullest->bytes()));
  for (auto part = parts.begin(); part != parts.begin() + largest && part->first > 0; ++part)
    text += fmt::format("  {:>12.3f} MB  {:5.1f} %  {}\n", megabytes(part->first),
                        100.0 * static_cast<double>(part->first) / static_cast<double>(fullest->bytes()),
                        tables[part->second].name);
  return text;
}

}  // namespace

std::vector<double> ids_per_sample(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features) {
  std::vector<double> ids(static_cast<std::size_t>(plan.ranks));
  for (const Feature& feature : features) {
    const auto t = static_cast<std::size_t>(feature.table);
    const auto hotness = static_cast<double>(feature.hotness);
    if (plan.tables[t].data_parallel)
      for (double& rank : ids) rank += hotness / plan.ranks;
    for (const Shard& shard : plan.tables[t].shards)
      ids[shard.rank] += hotness * static_cast<double>(shard.rows.count()) / static_cast<double>(tables[t].rows);
  }
  return ids;
}

std::string show(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features) {
  const auto loads = loads_of(plan, tables);
  return fmt::format("plan '{}' for {} ranks, {} tables (ids per sample: expected for uniform ids)\n\n{}\n{}\n{}",
                     plan.name, plan.ranks, tables.size(), per_rank(loads, ids_per_sample(plan, tables, features)),
                     per_table(plan, tables), fullest_rank(plan, tables, loads));
}

}  // namespace shardmark
