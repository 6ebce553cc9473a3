// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/planners/sliced_columns.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "comm/placement/planners/table_size.hpp"
#include "reference/storage.hpp"

namespace shardmark::placement {
namespace {

/// A slice while it is dealt; the strategies sort slices by these members in this order.
struct Slice {
  std::int64_t elements = 0;
  std::int64_t table = 0;

  auto operator<=>(const Slice&) const = default;
};

/// Cuts the column tables.
class Slicer {
 public:
  Slicer(std::span<const Table> tables, const std::vector<std::int64_t>& numbers, int ranks)
      : tables_(tables), numbers_(numbers), ranks_(ranks) {}

  /// Counts the slices of a table: the least power of two that leaves them at most `threshold` elements, or all that
  /// there can be.
  std::int64_t count(std::int64_t t, std::optional<std::int64_t> threshold) const {
    const std::int64_t most = most_slices(t), elements = elements_of(tables_[t]);
    std::int64_t slices = 1;
    while (threshold && slices < most && elements > *threshold * slices) slices *= 2;
    return std::min(slices, most);
  }

  /// Returns the threshold that the library chooses when there are fewer tables than ranks.
  std::optional<std::int64_t> automatic_threshold() const {
    std::optional<std::int64_t> threshold;
    std::multiset<std::int64_t> sizes;
    for (const std::int64_t t : numbers_) sizes.insert(elements_of(tables_[t]));
    while (!sizes.empty() && std::ssize(sizes) < ranks_) {
      const std::int64_t largest = *sizes.rbegin();
      threshold = largest - 1;
      sizes.erase(std::prev(sizes.end()));
      sizes.insert({largest / 2, largest / 2});
    }
    return threshold;
  }

  /// Returns the largest threshold, from `threshold` down, by which every rank can have a slice; else that of the most
  /// slices.
  std::int64_t filling_threshold(std::int64_t threshold) const {
    while (total(threshold) < ranks_) {
      std::int64_t next = -1;
      for (const std::int64_t t : numbers_) {
        const std::int64_t slices = count(t, threshold);
        if (slices < most_slices(t)) next = std::max(next, (elements_of(tables_[t]) + slices - 1) / slices - 1);
      }
      if (next < 0) break;
      threshold = next;
    }
    return threshold;
  }

  std::int64_t columns(std::int64_t t, std::int64_t slices, std::int64_t number) const {
    return tables_[t].dim / slices + (number < tables_[t].dim % slices ? 1 : 0);
  }

  std::int64_t elements(std::int64_t t, std::int64_t slices, std::int64_t number) const {
    return slices == 1 ? elements_of(tables_[t]) : tables_[t].rows * columns(t, slices, number);
  }

 private:
  std::int64_t most_slices(std::int64_t t) const {
    return storage_of(tables_[t]).splits ? std::min<std::int64_t>(ranks_, tables_[t].dim) : 1;
  }

  std::int64_t total(std::int64_t threshold) const {
    return std::transform_reduce(numbers_.begin(), numbers_.end(), std::int64_t{0}, std::plus<>(),
                                 [&](std::int64_t t) { return count(t, threshold); });
  }

  std::span<const Table> tables_;
  const std::vector<std::int64_t>& numbers_;
  std::int64_t ranks_;
};

using Dealt = std::vector<std::vector<std::int64_t>>;  // [ranks] tables of slices

Dealt deal_in_turn(const std::vector<Slice>& slices, int ranks) {
  Dealt dealt(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < slices.size(); ++i) dealt[i % dealt.size()].push_back(slices[i].table);
  return dealt;
}

/// Deals to rank r every 2 ranks-th slice from the r-th on, then every 2 ranks-th from the (2 ranks - 1 - r)-th on.
Dealt deal_balanced(std::vector<Slice> slices, int ranks) {
  std::ranges::sort(slices, std::greater());
  Dealt dealt(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r)
    for (const int first : {r, 2 * ranks - 1 - r})
      for (auto i = static_cast<std::size_t>(first); i < slices.size(); i += 2 * static_cast<std::size_t>(ranks))
        dealt[r].push_back(slices[i].table);
  return dealt;
}

/// Ranks are sorted by what they hold, then by the tables of that, after every slice: the order at the end numbers
/// them.
Dealt deal_optimized(std::vector<Slice> slices, int ranks) {
  using Held = std::pair<std::int64_t, std::vector<std::int64_t>>;
  std::ranges::sort(slices, std::greater());
  std::multiset<Held> held;
  for (int rank = 0; rank < ranks; ++rank) held.emplace();
  for (const Slice& slice : slices) {
    auto least = held.extract(held.begin());
    least.value().first += slice.elements;
    least.value().second.push_back(slice.table);
    held.insert(std::move(least));
  }
  Dealt dealt;
  for (const Held& rank : held) dealt.push_back(rank.second);
  return dealt;
}

Dealt deal(const std::vector<Slice>& slices, SliceStrategy strategy, int ranks) {
  if (ranks == 1 || strategy == SliceStrategy::basic) return deal_in_turn(slices, ranks);
  return strategy == SliceStrategy::memory_balanced ? deal_balanced(slices, ranks) : deal_optimized(slices, ranks);
}

/// Returns each rank's slices of a table as columns: the next ones of those that the table was cut into.
std::vector<std::vector<ColumnPart>> parts_of(const Dealt& dealt, const Slicer& slicer,
                                              const std::vector<std::int64_t>& slices, bool merge) {
  std::vector<std::int64_t> taken(slices.size()), end(slices.size());
  std::vector<std::vector<ColumnPart>> parts;
  for (const std::vector<std::int64_t>& tables : dealt) {
    std::vector<ColumnPart>& own = parts.emplace_back();
    for (const std::int64_t t : tables) {
      const std::int64_t begin = end[t];
      end[t] += slicer.columns(t, slices[t], taken[t]++);
      const auto earlier = merge ? std::ranges::find(own, t, &ColumnPart::table) : own.end();
      if (earlier != own.end())
        earlier->end = end[t];
      else
        own.push_back({.table = t, .begin = begin, .end = end[t]});
    }
  }
  return parts;
}

void offload(std::vector<ColumnPart>& parts, std::span<const Table> tables, std::int64_t budget) {
  const auto elements = [&](const ColumnPart& part) {
    const Table& table = tables[part.table];
    return part.end - part.begin == table.dim ? elements_of(table) : table.rows * (part.end - part.begin);
  };
  std::vector<ColumnPart*> ascending;
  for (ColumnPart& part : parts) ascending.push_back(&part);
  std::ranges::stable_sort(ascending, {}, [&](const ColumnPart* part) { return elements(*part); });
  std::int64_t total = 0;
  for (ColumnPart* part : ascending) part->offloaded = (total += elements(*part)) > budget;
}

std::vector<JoinedTables> join(const std::vector<ColumnPart>& parts, std::span<const Table> tables,
                               const std::vector<std::vector<Pooling>>& poolings) {
  std::vector<JoinedTables> joined;
  std::vector<const ColumnPart*> first;  // of each
  std::vector<std::int64_t> rows;        // of each
  for (const ColumnPart& part : parts) {
    const auto fits = [&](const ColumnPart* other) {
      return other->end - other->begin == part.end - part.begin && poolings[other->table] == poolings[part.table] &&
             !other->offloaded && !part.offloaded;
    };
    const std::size_t place = std::ranges::find_if(first, fits) - first.begin();
    if (place == first.size()) {
      first.push_back(&part);
      joined.emplace_back();
      rows.push_back(0);
    }
    joined[place].tables.push_back(part.table);
    joined[place].row_offsets.push_back(rows[place]);
    rows[place] += tables[part.table].rows;
  }
  return joined;
}

std::vector<std::int64_t> block_offsets(std::int64_t rows, int ranks) {
  std::vector<std::int64_t> offsets;
  for (std::int64_t r = 0; r < ranks; ++r) offsets.push_back(-(r * (rows / ranks) + std::min(r, rows % ranks)));
  return offsets;
}

/// Applies rule 1.
SlicedTables grouped(std::span<const Table> tables, const SliceRules& rules) {
  SlicedTables placed;
  const bool several = rules.ranks > 1;
  for (std::int64_t t = 0; t < std::ssize(tables); ++t) {
    const std::int64_t elements = elements_of(tables[t]);
    if (several && rules.data_parallel_threshold && elements <= *rules.data_parallel_threshold)
      placed.data_parallel.push_back(t);
    else if (several && rules.row_threshold && elements >= *rules.row_threshold && storage_of(tables[t]).splits)
      placed.row.push_back(t);
    else
      placed.column.push_back(t);
  }
  return placed;
}

}  // namespace

SlicedTables slice_tables(std::span<const Table> tables, std::span<const Feature> features, const SliceRules& rules) {
  SlicedTables placed = grouped(tables, rules);
  const Slicer slicer(tables, placed.column, rules.ranks);
  if (!rules.column_threshold) placed.automatic_threshold = slicer.automatic_threshold();
  if (placed.automatic_threshold && rules.fill_ranks)
    placed.automatic_threshold = slicer.filling_threshold(*placed.automatic_threshold);

  std::vector<std::int64_t> counts(tables.size(), 1);
  std::vector<Slice> slices;
  for (const std::int64_t t : placed.column) {
    counts[t] = slicer.count(t, rules.column_threshold ? rules.column_threshold : placed.automatic_threshold);
    for (std::int64_t i = 0; i < counts[t]; ++i) slices.push_back({slicer.elements(t, counts[t], i), t});
  }
  placed.slices = deal(slices, rules.strategy, rules.ranks);
  placed.parts = parts_of(placed.slices, slicer, counts, rules.merge);

  std::vector<std::vector<Pooling>> poolings(tables.size());
  for (const Feature& feature : features) poolings[feature.table].push_back(feature.pooling);
  for (auto& of_table : poolings) {
    std::ranges::sort(of_table);
    of_table.erase(std::ranges::unique(of_table).begin(), of_table.end());
  }
  for (auto& parts : placed.parts) {
    if (rules.offload_budget) offload(parts, tables, *rules.offload_budget);
    placed.joined.push_back(join(parts, tables, poolings));
  }
  for (const std::int64_t t : placed.row) placed.row_offsets.push_back(block_offsets(tables[t].rows, rules.ranks));
  return placed;
}

}  // namespace shardmark::placement
