// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/formats/torchrec_plan.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "comm/placement/formats/cannot_express.hpp"
#include "comm/placement/formats/plan_json_text.hpp"
#include "reference/number.hpp"

namespace shardmark::placement {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::array sharding_types{"data_parallel",  "table_wise",        "column_wise", "row_wise",
                                    "table_row_wise", "table_column_wise", "grid_shard"};

constexpr std::string_view sharding_plan = "a TorchRec sharding plan";

/// The shards by columns, then rows; their rows are contiguous.
std::vector<Shard> sorted_blocks(const TablePlacement& placement, const Table& table) {
  require_plain(sharding_plan, table, placement);
  std::vector<Shard> shards = placement.shards;
  for (Shard& shard : shards) {
    if (shard.rows.stride != 1 && shard.rows.count() > 1)
      cannot_express(
          sharding_plan, table,
          fmt::format("rows modulo {}: its shards are contiguous; split it with row_wise_block", shard.rows.stride));
    shard.rows = {shard.rows.begin, shard.rows.begin + shard.rows.count(), 1};
  }
  std::ranges::sort(shards, {}, [](const Shard& shard) { return std::pair(shard.column_begin, shard.rows.begin); });
  return shards;
}

/// Whether these shards of equal columns are on neighbouring ranks, in order.
bool on_neighbours(std::span<const Shard> shards) {
  return std::ranges::adjacent_find(shards, [](const Shard& a, const Shard& b) { return b.rank != a.rank + 1; }) ==
         shards.end();
}

/// Throws InputError unless blocks of rows are cut as TorchRec does it, which would look for rows elsewhere.
void require_row_blocks(std::span<const Shard> shards, const Table& table) {
  for (std::size_t k = 0; k < shards.size(); ++k)
    if (const RowSet block = row_block(table.rows, std::ssize(shards), static_cast<std::int64_t>(k));
        shards[k].rows != block)
      cannot_express(
          sharding_plan, table,
          fmt::format("rows {} to {} as block {} of {}, by which TorchRec would have rows {} to {}; split it "
                      "with row_wise_block",
                      shards[k].rows.begin, shards[k].rows.end, k, shards.size(), block.begin, block.end));
}

/// Throws InputError for blocks of columns that FBGEMM, in which TorchRec holds them, has not: of other than multiples
/// of 4, and unequal ones of a table on one rank.
void require_column_blocks(std::span<const Shard> shards, const Table& table) {
  for (const Shard& shard : shards) {
    if (shard.columns() % 4 != 0)
      cannot_express(
          sharding_plan, table,
          fmt::format("columns {} to {}; give blocks of columns multiples of 4", shard.column_begin, shard.column_end));
    for (const Shard& other : shards)
      if (other.rank == shard.rank && other.columns() != shard.columns())
        cannot_express(sharding_plan, table,
                       fmt::format("blocks of {} and {} columns on rank {}; give blocks on one rank the same width",
                                   shard.columns(), other.columns(), shard.rank));
  }
}

/// What shards of whole rows are. Adds the empty shards of row_wise.
std::string_view row_type(std::vector<Shard>& shards, const Table& table, int ranks) {
  if (shards.size() == 1) return "table_wise";
  if (!on_neighbours(shards))
    cannot_express(sharding_plan, table,
                   fmt::format("blocks of rows on ranks that are no neighbours (rank {} first); deal them in the order "
                               "of the ranks",
                               shards.front().rank));
  require_row_blocks(shards, table);
  const std::int64_t block = (table.rows + ranks - 1) / ranks, blocks = (table.rows + block - 1) / block;
  const bool all = shards.front().rank == 0 && (std::ssize(shards) == ranks || std::ssize(shards) == blocks);
  for (int rank = static_cast<int>(shards.size()); all && rank < ranks; ++rank)
    shards.push_back({{table.rows, table.rows, 1}, 0, table.dim, rank});
  return all ? "row_wise" : "table_row_wise";
}

std::string_view type_of(std::vector<Shard>& shards, const Table& table, int ranks) {
  const auto columns_end = [&](std::size_t from) {
    const auto other =
        std::find_if(shards.begin() + static_cast<std::ptrdiff_t>(from), shards.end(),
                     [&](const Shard& shard) { return shard.column_begin != shards[from].column_begin; });
    return static_cast<std::size_t>(other - shards.begin());
  };
  const std::size_t rows = columns_end(0);
  if (rows == shards.size() && shards.front().columns() == table.dim) return row_type(shards, table, ranks);
  for (std::size_t begin = 0; begin < shards.size(); begin += rows)
    if (columns_end(begin) != begin + rows || !on_neighbours(std::span(shards).subspan(begin, rows)))
      cannot_express(
          sharding_plan, table,
          fmt::format("columns {} to {} on other than {} neighbouring ranks, in order of their rows; cut each "
                      "block of columns into as many blocks of rows",
                      shards[begin].column_begin, shards[begin].column_end, rows));
  for (std::size_t begin = 0; begin < shards.size(); begin += rows)
    require_row_blocks(std::span(shards).subspan(begin, rows), table);
  require_column_blocks(shards, table);
  return rows == 1 ? "column_wise" : "grid_shard";
}

Json block_json(const Shard& shard) {
  return {{"shard_offsets", Json::array({shard.rows.begin, shard.column_begin})},
          {"shard_sizes", Json::array({shard.rows.count(), shard.columns()})},
          {"placement", fmt::format("rank:{}/cpu", shard.rank)}};
}

std::string table_line(const TablePlacement& placement, const Table& table, int ranks) {
  std::vector<int> holders(static_cast<std::size_t>(ranks));
  std::iota(holders.begin(), holders.end(), 0);
  const auto head = [&](std::string_view type, std::string_view kernel) {
    return fmt::format("{}: {{\"sharding_type\": \"{}\", \"compute_kernel\": \"{}\", \"ranks\": {}",
                       Json(table.name).dump(), type, kernel, Json(holders).dump());
  };
  if (placement.data_parallel) return head("data_parallel", "dense") + "}";
  std::vector<Shard> shards = sorted_blocks(placement, table);
  const std::string_view type = type_of(shards, table, ranks);
  holders.clear();
  std::string text;
  for (const Shard& shard : shards) {
    holders.push_back(shard.rank);
    text += (text.empty() ? "\n  " : ",\n  ") + block_json(shard).dump();
  }
  return head(type, "fused") + fmt::format(", \"shards\": [{}]}}", text);
}

int rank_in(const Json& placement, const std::string& where) {
  const std::string text = placement.is_string() ? placement.get<std::string>() : "";
  const std::string_view prefix = "rank:";
  if (text.starts_with(prefix)) {
    const std::size_t end = std::min(text.find('/'), text.size());
    const auto rank = number_in<int>(std::string_view(text).substr(prefix.size(), end - prefix.size()));
    if (rank && *rank >= 0 && *rank < largest_job) return *rank;
  }
  throw InputError(fmt::format("{}: 'placement' must be \"rank:R/DEVICE\", with R below {}", where, largest_job));
}

Shard block_from(const Json& object, const std::string& where) {
  expect_keys(object, where, {"shard_offsets", "shard_sizes", "placement"});
  const auto offsets = list_of(object, "shard_offsets", 2, where), sizes = list_of(object, "shard_sizes", 2, where);
  constexpr std::int64_t most = std::int64_t{1} << 62;
  for (const std::int64_t number : {offsets[0], offsets[1], sizes[0], sizes[1]})
    if (number < 0 || number > most) throw InputError(where + ": offsets and sizes must be numbers from 0 to 2^62");
  return {{offsets[0], offsets[0] + sizes[0], 1},
          offsets[1],
          offsets[1] + sizes[1],
          rank_in(value_of(object, "placement", where), where)};
}

/// The shards that TorchRec cuts a table into for these ranks, where a file has only the type.
std::vector<Shard> shards_of(std::string_view type, const Json& object, const std::vector<std::int64_t>& ranks,
                             const Table& table, const std::string& where) {
  if (object.contains("compute_kernel") && object["compute_kernel"] == "customized_kernel")
    throw InputError(where + ": the rows of a customized_kernel are where it says, which no plan does");
  const std::int64_t parts = std::ssize(ranks);
  const bool by_columns = type.ends_with("column_wise");
  if (parts == 0 || (type == "table_wise" && parts > 1))
    throw InputError(fmt::format("{}: {} ranks hold a table that is {}", where, parts, type));
  if (type == "grid_shard")
    throw InputError(where + ": 'shards' is missing; of grid_shard, 'ranks' does not say the blocks of columns");
  if (by_columns && table.dim % parts != 0)
    throw InputError(
        fmt::format("{}: {} ranks hold equal blocks of its columns, but it has {}; TorchRec has equal ones", where,
                    parts, table.dim));
  std::vector<Shard> shards;
  for (std::int64_t k = 0; k < parts; ++k) {
    Shard shard = whole(table, static_cast<int>(ranks[k]));
    if (by_columns) {
      shard.column_begin = k * (table.dim / parts);
      shard.column_end = shard.column_begin + table.dim / parts;
    } else {
      shard.rows = row_block(table.rows, parts, k);
    }
    shards.push_back(shard);
  }
  return shards;
}

/// How a table is placed, and one more than the highest rank that is named.
std::pair<TablePlacement, int> sharding_from(const Json& object, const Table& table, const std::string& where) {
  expect_keys(object, where, {"sharding_type", "compute_kernel", "ranks", "shards"});
  const std::string type = text_of(object, "sharding_type", where);
  if (std::ranges::find(sharding_types, type) == sharding_types.end())
    throw InputError(fmt::format("{}: sharding type '{}' is none of {}", where, type, fmt::join(sharding_types, ", ")));
  const auto ranks = object.contains("ranks") ? integers_in(object["ranks"]) : std::nullopt;
  TablePlacement placement{.data_parallel = type == "data_parallel", .shards = {}};
  int end = 0;
  for (const std::int64_t rank : ranks.value_or(std::vector<std::int64_t>{})) {
    if (rank < 0 || rank >= largest_job) throw InputError(fmt::format("{}: there is no rank {}", where, rank));
    end = std::max(end, static_cast<int>(rank) + 1);
  }
  if (placement.data_parallel) {
    if (object.contains("shards")) throw InputError(where + ": a data_parallel table has no 'shards'");
    return {placement, end};
  }
  if (object.contains("shards")) {
    const Json& shards = object["shards"];
    if (!shards.is_array()) throw InputError(where + ": 'shards' must be a list");
    for (std::size_t s = 0; s < shards.size(); ++s)
      placement.shards.push_back(block_from(shards[s], fmt::format("{}, shard {}", where, s)));
  } else {
    if (!ranks) throw InputError(where + ": 'shards' is missing, and 'ranks' is no list");
    placement.shards = shards_of(type, object, *ranks, table, where);
  }
  for (const Shard& shard : placement.shards) end = std::max(end, shard.rank + 1);
  std::erase_if(placement.shards, [](const Shard& shard) { return shard.rows.count() == 0 || shard.columns() == 0; });
  return {placement, end};
}

}  // namespace

std::string plan_to_torchrec(const Plan& plan, std::span<const Table> tables) {
  std::vector<std::string> lines;
  for (std::size_t t = 0; t < tables.size(); ++t)
    lines.push_back(" " + table_line(plan.tables[t], tables[t], plan.ranks));
  return fmt::format("{{\"world_size\": {}, \"plan\": {{\"embedding_bag_collection\": {{\n{}}}}}}}\n", plan.ranks,
                     fmt::join(lines, ",\n"));
}

bool is_torchrec_plan(const Json& document) {
  const auto is_module = [](const Json& module) {
    return module.is_object() && !module.empty() && std::ranges::all_of(module, [](const Json& table) {
             return table.is_object() && table.contains("sharding_type");
           });
  };
  return document.is_object() && (document.contains("plan") || std::ranges::any_of(document, is_module));
}

Plan plan_from_torchrec(std::string_view text, std::string_view origin, std::string_view name,
                        std::span<const Table> tables) {
  const Json document = parse_json(text, origin);
  const std::string where(origin);
  const bool wrapped = document.is_object() && document.contains("plan");
  if (wrapped) expect_keys(document, where, {"world_size", "plan"});
  std::unordered_map<std::string, std::size_t> unplaced;
  for (std::size_t t = 0; t < tables.size(); ++t) unplaced.emplace(tables[t].name, t);
  Plan plan{.name = std::string(name), .ranks = 0, .tables = std::vector<TablePlacement>(tables.size())};
  const Json& modules = wrapped ? document["plan"] : document;
  if (!modules.is_object())
    throw InputError(fmt::format("{}: {} must be an object of modules", where, wrapped ? "'plan'" : "the plan"));
  for (const auto& [module, entries] : modules.items()) {
    if (!entries.is_object())
      throw InputError(fmt::format("{}: module '{}' must be an object of tables", where, module));
    for (const auto& [table, entry] : entries.items()) {
      const auto found = unplaced.find(table);
      if (found == unplaced.end())
        throw InputError(fmt::format("{}: the workload has no table '{}', or the plan places it twice", where, table));
      const auto [placement, ranks] =
          sharding_from(entry, tables[found->second], fmt::format("{}, table '{}'", where, table));
      plan.tables[found->second] = placement;
      plan.ranks = std::max(plan.ranks, ranks);
      unplaced.erase(found);
    }
  }
  for (const Table& table : tables)
    if (unplaced.contains(table.name))
      throw InputError(fmt::format("{}: table '{}' is missing; place every table of the workload", where, table.name));
  if (wrapped && document.contains("world_size")) plan.ranks = int_of(document, "world_size", where);
  return plan;
}

}  // namespace shardmark::placement
