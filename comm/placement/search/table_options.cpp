// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/search/table_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "comm/placement/support.hpp"
#include "reference/named.hpp"
#include "reference/storage.hpp"

namespace shardmark::placement {
namespace {

constexpr std::int64_t least_columns = 4;  ///< of a strip: 16 bytes of a row

/// Returns 2, 4, 8, ... below `most`, and `most`; nothing below 2.
std::vector<std::int64_t> parts_up_to(std::int64_t most) {
  std::vector<std::int64_t> parts;
  for (std::int64_t n = 2; n < most; n *= 2) parts.push_back(n);
  if (most >= 2) parts.push_back(most);
  return parts;
}

/// modulo; blocks that differ by one row at most, the first ones being the longer; those of row_block().
enum class Rows { modulo, blocks, torchrec_blocks };

/// Splits rows [first, rows) into that many parts, into fewer where so many of row_block() hold all rows.
std::vector<RowSet> row_parts(std::int64_t first, std::int64_t rows, std::int64_t parts, Rows split) {
  std::vector<RowSet> sets;
  std::int64_t begin = first;
  for (std::int64_t k = 0; k < parts; ++k) {
    std::int64_t end = begin + (rows - first) / parts + (k < (rows - first) % parts ? 1 : 0);
    if (split == Rows::torchrec_blocks) end = first + row_block(rows - first, parts, k).end;
    if (split == Rows::modulo)
      sets.push_back({first + k, rows, parts});
    else if (begin < end)
      sets.push_back({begin, end, 1});
    begin = end;
  }
  return sets;
}

/// Combines every part of the columns, in multiples of `unit`, with every set of rows, each at a seat of its own.
TableOption grid(const Table& table, std::int64_t strips, const std::vector<RowSet>& rows, std::int64_t unit = 1) {
  TableOption option;
  int seat = 0;
  std::int64_t begin = 0;
  const std::int64_t units = table.dim / unit;
  for (std::int64_t strip = 0; strip < strips; ++strip) {
    const std::int64_t end = begin + unit * (units / strips + (strip < units % strips ? 1 : 0));
    for (const RowSet& set : rows) option.placement.shards.push_back({set, begin, end, seat++});
    begin = end;
  }
  return option;
}

TableOption split_rows_of(const Table& table, std::int64_t first, std::int64_t parts, Rows split) {
  TableOption option = grid(table, 1, row_parts(first, table.rows, parts, split));
  option.placement.hot_rows = first;
  return option;
}

void propose_rows(const TableToPlace& place, Rows split, std::vector<TableOption>& options) {
  for (const std::int64_t parts : parts_up_to(std::min<std::int64_t>(place.ranks, place.table().rows)))
    options.push_back(split_rows_of(place.table(), 0, parts, split));
}

bool has_nodes(const TableToPlace& place) { return place.node_size > 1 && place.node_size < place.ranks; }

/// Adds the grid of so many strips with its rows modulo 2, 4, 8, ... ranks of one node, and those of 1, 2, 4, ...
/// nodes, but not all, on at most so many ranks.
void add_on_nodes(const TableToPlace& place, std::int64_t strips, std::int64_t ranks,
                  std::vector<TableOption>& options) {
  const Table& table = place.table();
  std::vector<std::int64_t> all_parts = parts_up_to(place.node_size);
  for (std::int64_t all = 2 * place.node_size; all < place.ranks; all *= 2) all_parts.push_back(all);
  for (const std::int64_t parts : all_parts) {
    if (parts > table.rows || strips * parts > ranks) return;
    options.push_back(grid(table, strips, row_parts(0, table.rows, parts, Rows::modulo)));
    options.back().together = static_cast<int>(std::min<std::int64_t>(parts, place.node_size));
  }
}

/// Returns the fewest first rows that this share of the ids names; nothing if those are more than an eighth of the
/// rows, and so hardly hotter than others.
std::optional<std::int64_t> hot_rows(const TableToPlace& place, double mass) {
  const std::int64_t few = place.table().rows / 8;
  if (few < 1 || place.statistics.mass(place.number, {0, few, 1}) < mass) return std::nullopt;
  return std::max<std::int64_t>(1, place.statistics.hot_rows(place.number, mass));
}

}  // namespace

void propose_data_parallel(const TableToPlace&, std::vector<TableOption>& options) {
  options.push_back({.placement = {.data_parallel = true, .shards = {}}});
}

void propose_table_wise(const TableToPlace& place, std::vector<TableOption>& options) {
  options.push_back({.placement = {.data_parallel = false, .shards = {whole(place.table(), 0)}}});
}

void propose_column_wise(const TableToPlace& place, std::vector<TableOption>& options) {
  const Table& table = place.table();
  for (const std::int64_t strips : parts_up_to(std::min<std::int64_t>(place.ranks, table.dim / least_columns)))
    options.push_back(grid(table, strips, {{0, table.rows, 1}}));
}

void propose_column_wise_fours(const TableToPlace& place, std::vector<TableOption>& options) {
  const Table& table = place.table();
  if (table.dim % 4 != 0) return;
  for (const std::int64_t strips : parts_up_to(std::min<std::int64_t>(place.ranks, table.dim / 4)))
    options.push_back(grid(table, strips, {{0, table.rows, 1}}, 4));
}

void propose_row_wise_in_order(const TableToPlace& place, std::vector<TableOption>& options) {
  if (place.ranks == 1) return;
  options.push_back(split_rows_of(place.table(), 0, place.ranks, Rows::torchrec_blocks));
  options.back().in_order = true;
}

void propose_table_row_wise_in_order(const TableToPlace& place, std::vector<TableOption>& options) {
  if (!has_nodes(place)) return;
  options.push_back(split_rows_of(place.table(), 0, place.node_size, Rows::torchrec_blocks));
  options.back().together = place.node_size;
  options.back().in_order = true;
}

void propose_row_wise(const TableToPlace& place, std::vector<TableOption>& options) {
  propose_rows(place, Rows::modulo, options);
}

void propose_row_wise_block(const TableToPlace& place, std::vector<TableOption>& options) {
  propose_rows(place, Rows::blocks, options);
}

void propose_table_row_wise(const TableToPlace& place, std::vector<TableOption>& options) {
  if (has_nodes(place)) add_on_nodes(place, 1, place.ranks, options);
}

void propose_grid(const TableToPlace& place, std::vector<TableOption>& options) {
  const Table& table = place.table();
  for (const std::int64_t strips : parts_up_to(std::min<std::int64_t>(place.ranks / 2, table.dim / least_columns)))
    for (const std::int64_t parts : parts_up_to(std::min(place.ranks / strips, table.rows)))
      options.push_back(grid(table, strips, row_parts(0, table.rows, parts, Rows::modulo)));
  if (!has_nodes(place) || table.rows < place.node_size) return;
  const std::int64_t nodes = place.ranks / place.node_size;
  for (const std::int64_t strips : parts_up_to(std::min<std::int64_t>(nodes, table.dim / least_columns)))
    add_on_nodes(place, strips, place.ranks / 2, options);
}

void propose_hot_rows(const TableToPlace& place, std::vector<TableOption>& options) {
  if (place.ranks == 1) return;
  std::int64_t before = 0;
  for (const double mass : {0.25, 0.5, 0.75, 0.9}) {
    const auto hot = hot_rows(place, mass);
    if (!hot || *hot == before) continue;
    before = *hot;
    const std::int64_t cold = place.table().rows - *hot;
    options.push_back(split_rows_of(place.table(), *hot, 1, Rows::blocks));
    options.push_back(split_rows_of(place.table(), *hot, std::min<std::int64_t>(place.ranks, cold), Rows::modulo));
    if (!has_nodes(place) || cold < place.node_size) continue;
    options.push_back(split_rows_of(place.table(), *hot, place.node_size, Rows::modulo));
    options.back().together = place.node_size;
  }
}

void propose_tensor_train(const TableToPlace& place, std::vector<TableOption>& options) {
  for (const StorageChoice& storage : storages()) {
    if (storage.splits || place.table().storage == storage.value) continue;
    options.push_back({.placement = {.data_parallel = true, .shards = {}, .storage = storage.value}});
    options.push_back({.placement = {.shards = {whole(place.table(), 0)}, .storage = storage.value}});
  }
}

int TableOption::seats() const {
  int seats = 0;
  for (const Shard& shard : placement.shards) seats = std::max(seats, shard.rank + 1);
  return seats;
}

TablePlacement TableOption::at(std::span<const int> ranks) const {
  TablePlacement placed = placement;
  for (Shard& shard : placed.shards) shard.rank = ranks[static_cast<std::size_t>(shard.rank)];
  return placed;
}

SeatedOption seated(const TablePlacement& placement) {
  SeatedOption made{.option = {.placement = placement}, .ranks = {}};
  std::vector<int> seats;  // by rank; of thousands of shards none is looked for among the others
  for (Shard& shard : made.option.placement.shards) {
    const auto rank = static_cast<std::size_t>(shard.rank);
    if (rank >= seats.size()) seats.resize(rank + 1, -1);
    if (seats[rank] < 0) {
      seats[rank] = static_cast<int>(made.ranks.size());
      made.ranks.push_back(shard.rank);
    }
    shard.rank = seats[rank];
  }
  return made;
}

std::vector<TableOption> table_options(const TableToPlace& place, const Movement& movement,
                                       std::span<const std::string_view> families) {
  std::vector<TableOption> proposed, options;
  for (const std::string_view family : families)
    choice_named(option_families, "placement option", family).propose(place, proposed);
  std::vector<Feature> features;
  for (Feature feature : place.statistics.features()) {
    if (feature.table != place.number) continue;
    feature.table = 0;
    features.push_back(std::move(feature));
  }
  Movement requested = movement;  // whose dedup predictions have settled, also where no rows travel
  requested.dedup = Dedup::automatic;
  std::optional<InputError> refused;
  for (TableOption& option : proposed) {
    if (std::ranges::find(options, option) != options.end()) continue;
    const Plan plan{.name = "search", .ranks = place.ranks, .tables = {option.placement}};
    try {
      require_supported(plan, {place.table()}, features, requested);
      options.push_back(std::move(option));
    } catch (const InputError& error) {
      if (!refused) refused = error;
    }
  }
  if (options.empty() && refused) throw InputError(*refused);
  if (options.empty())
    throw InputError(
        fmt::format("table {}: no placement option among '{}' suits {} rows and {} columns on {} ranks; add "
                    "table_wise",
                    place.table().name, fmt::join(families, "+"), place.table().rows, place.table().dim, place.ranks));
  return options;
}

}  // namespace shardmark::placement
