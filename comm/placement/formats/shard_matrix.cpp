// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/formats/shard_matrix.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "comm/placement/formats/cannot_express.hpp"
#include "comm/placement/formats/plan_json_text.hpp"

namespace shardmark::placement {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view shard_matrix = "a HugeCTR shard matrix";

/// The ranks that hold a table, ascending, and in how many blocks of columns.
struct Holders {
  std::vector<int> ranks;
  std::int64_t column_factor = 1;

  std::int64_t row_factor() const { return std::ssize(ranks) / column_factor; }
};

/// The shards of a table that is held so. A rank beyond its rows has none.
std::vector<Shard> held_shards(const Holders& holders, const Table& table) {
  const std::int64_t rows = holders.row_factor(), width = table.dim / holders.column_factor;
  std::vector<Shard> shards;
  for (std::int64_t k = 0; k < std::ssize(holders.ranks); ++k) {
    const std::int64_t column = k / rows * width;
    if (k % rows < table.rows)
      shards.push_back({{k % rows, table.rows, rows}, column, column + width, holders.ranks[k]});
  }
  return shards;
}

/// Whether they are the same cells on the same ranks, whatever their order and the strides of single rows.
bool same_cells(std::vector<Shard> a, std::vector<Shard> b) {
  for (auto* shards : {&a, &b}) {
    for (Shard& shard : *shards)
      if (shard.rows.count() == 1)
        shard.rows = {shard.rows.begin, shard.rows.begin + 1, 1};
      else
        shard.rows.end = shard.rows.global(shard.rows.count() - 1) + 1;
    std::ranges::sort(*shards, {}, [](const Shard& shard) { return std::pair(shard.column_begin, shard.rows.begin); });
  }
  return a == b;
}

/// Ranks without rows of a table in fewer rows than its stride, so that it is read back with that stride: those after
/// the last holder, if they are enough.
void add_empty_holders(Holders& holders, std::int64_t stride, int ranks) {
  const std::int64_t missing = stride - std::ssize(holders.ranks);
  if (holders.column_factor > 1 || missing <= 0 || holders.ranks.back() + missing >= ranks) return;
  for (std::int64_t i = 0; i < missing; ++i) holders.ranks.push_back(holders.ranks.back() + 1);
}

Holders holders_of(const TablePlacement& placement, const Table& table, int ranks) {
  require_plain(shard_matrix, table, placement);
  std::set<int> holding;
  std::set<std::int64_t> columns;
  for (const Shard& shard : placement.shards) {
    if (!holding.insert(shard.rank).second)
      cannot_express(shard_matrix, table,
                     fmt::format("two shards of it on rank {}; give each shard a rank of its own", shard.rank));
    columns.insert(shard.column_begin);
  }
  for (const Shard& shard : placement.shards)
    if (shard.columns() * std::ssize(columns) != table.dim)
      cannot_express(shard_matrix, table,
                     fmt::format("columns {} to {} on rank {}; cut its {} columns into equal blocks",
                                 shard.column_begin, shard.column_end, shard.rank, table.dim));
  Holders holders{{holding.begin(), holding.end()}, std::ssize(columns)};
  if (std::ssize(holders.ranks) % holders.column_factor != 0 ||
      !same_cells(held_shards(holders, table), placement.shards))
    cannot_express(shard_matrix, table,
                   "shards in other rows than modulo the ranks that hold them, in the order of these ranks; split it "
                   "with row_wise, column_wise or table_wise");
  add_empty_holders(holders, placement.shards.front().rows.stride, ranks);
  return holders;
}

std::string indented(const std::vector<Json>& entries, std::string_view indent) {
  std::string text;
  for (const Json& entry : entries) text += (text.empty() ? "" : ",\n") + std::string(indent) + entry.dump();
  return text;
}

/// What a file says about the tables, by their numbers.
struct Strategies {
  std::map<std::string, std::size_t, std::less<>> number;
  std::vector<std::optional<std::int64_t>> column_factor;  ///< of "mp" tables
  std::vector<char> replicated;
};

std::size_t table_number(const Json& name, const Strategies& strategies, const std::string& where) {
  if (!name.is_string()) throw InputError(where + ": a table's name must be a string");
  const auto found = strategies.number.find(name.get<std::string>());
  if (found == strategies.number.end())
    throw InputError(fmt::format("{}: the workload has no table '{}'", where, name.get<std::string>()));
  return found->second;
}

/// One entry of a strategy: a name, or [name, column factor].
void read_entry(const Json& entry, bool replicated, std::span<const Table> tables, const std::string& where,
                Strategies& strategies) {
  std::int64_t factor = 1;
  if (entry.is_array()) {
    const auto number = entry.size() == 2 ? integer_in(entry[1]) : std::nullopt;
    if (!number || *number < 1)
      throw InputError(where + ": a table is \"name\" or [\"name\", column factor of at least 1]");
    factor = *number;
  }
  const std::size_t t = table_number(entry.is_array() ? entry[0] : entry, strategies, where);
  const std::string table = fmt::format("{}, table '{}'", where, tables[t].name);
  if (strategies.replicated[t] || strategies.column_factor[t]) throw InputError(table + ": it has a strategy already");
  if (replicated && factor != 1) throw InputError(table + ": a dp table has no column factor");
  if (tables[t].dim % factor != 0)
    throw InputError(fmt::format("{}: column factor {} does not divide its {} columns", table, factor, tables[t].dim));
  strategies.replicated[t] = replicated;
  if (!replicated) strategies.column_factor[t] = factor;
}

Strategies read_strategies(const Json& document, std::span<const Table> tables, const std::string& origin) {
  Strategies strategies{.number = {},
                        .column_factor = std::vector<std::optional<std::int64_t>>(tables.size()),
                        .replicated = std::vector<char>(tables.size())};
  for (std::size_t t = 0; t < tables.size(); ++t) strategies.number.emplace(tables[t].name, t);
  const Json& groups = value_of(document, "shard_strategy", origin);
  if (!groups.is_array()) throw InputError(origin + ": 'shard_strategy' must be a list");
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::string where = fmt::format("{}, shard_strategy {}", origin, g);
    const Json& group = groups[g];
    if (!group.is_array() || group.size() != 2 || (group[0] != "mp" && group[0] != "dp") || !group[1].is_array())
      throw InputError(where + ": must be [\"mp\" or \"dp\", [tables]]");
    for (const Json& entry : group[1]) read_entry(entry, group[0] == "dp", tables, where, strategies);
  }
  return strategies;
}

/// By table, the ranks that hold it, ascending.
std::vector<std::vector<int>> read_matrix(const Json& matrix, const Strategies& strategies,
                                          std::span<const Table> tables, const std::string& origin) {
  std::vector<std::vector<int>> ranks_of(tables.size());
  if (!matrix.is_array()) throw InputError(origin + ": 'shard_matrix' must be a list with an entry per rank");
  for (std::size_t rank = 0; rank < matrix.size(); ++rank) {
    const std::string where = fmt::format("{}, shard_matrix, rank {}", origin, rank);
    if (!matrix[rank].is_array()) throw InputError(where + ": must be a list of table names");
    for (const Json& name : matrix[rank]) {
      auto& ranks = ranks_of[table_number(name, strategies, where)];
      if (!ranks.empty() && ranks.back() == static_cast<int>(rank))
        throw InputError(fmt::format("{}: it holds table '{}' twice", where, name.get<std::string>()));
      ranks.push_back(static_cast<int>(rank));
    }
  }
  return ranks_of;
}

}  // namespace

std::string plan_to_shard_matrix(const Plan& plan, std::span<const Table> tables) {
  std::vector<Json> matrix(static_cast<std::size_t>(plan.ranks), Json::array());
  Json split = Json::array(), replicated = Json::array();
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const Json name = tables[t].name;
    if (plan.tables[t].data_parallel) {
      replicated.push_back(name);
      for (Json& rank : matrix) rank.push_back(name);
      continue;
    }
    const Holders holders = holders_of(plan.tables[t], tables[t], plan.ranks);
    split.push_back(holders.column_factor > 1 ? Json::array({name, holders.column_factor}) : name);
    for (const int rank : holders.ranks) matrix[rank].push_back(name);
  }
  std::vector<Json> strategies;
  if (!split.empty()) strategies.push_back(Json::array({"mp", split}));
  if (!replicated.empty()) strategies.push_back(Json::array({"dp", replicated}));
  return fmt::format("{{\"shard_matrix\": [\n{}\n ],\n \"shard_strategy\": [\n{}\n ]}}\n", indented(matrix, "  "),
                     indented(strategies, "  "));
}

Plan plan_from_shard_matrix(std::string_view text, std::string_view origin, std::string_view name,
                            std::span<const Table> tables) {
  const Json document = parse_json(text, origin);
  const std::string where(origin);
  expect_keys(document, where, {"shard_matrix", "shard_strategy", "compression_strategy"});
  const Strategies strategies = read_strategies(document, tables, where);
  const Json& matrix = value_of(document, "shard_matrix", where);
  const auto ranks_of = read_matrix(matrix, strategies, tables, where);
  Plan plan{.name = std::string(name), .ranks = static_cast<int>(matrix.size()), .tables = {}};
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const auto wrong = [&](const std::string& why) {
      throw InputError(fmt::format("{}: table '{}': {}", origin, tables[t].name, why));
    };
    if (!strategies.replicated[t] && !strategies.column_factor[t]) wrong("it is in no shard_strategy");
    if (ranks_of[t].empty()) wrong("no rank of the shard_matrix holds it");
    if (strategies.replicated[t] && ranks_of[t].size() != matrix.size()) wrong("a dp table must be on every rank");
    plan.tables.push_back({.data_parallel = strategies.replicated[t] != 0, .shards = {}});
    if (strategies.replicated[t]) continue;
    const Holders holders{ranks_of[t], *strategies.column_factor[t]};
    if (std::ssize(holders.ranks) % holders.column_factor != 0)
      wrong(fmt::format("column factor {} does not divide the {} ranks that hold it", holders.column_factor,
                        holders.ranks.size()));
    plan.tables.back().shards = held_shards(holders, tables[t]);
  }
  return plan;
}

}  // namespace shardmark::placement
