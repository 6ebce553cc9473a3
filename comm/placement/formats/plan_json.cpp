// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/formats/plan_json.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "comm/placement/formats/plan_json_text.hpp"
#include "reference/named.hpp"
#include "reference/storage.hpp"

namespace shardmark::placement {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::string_view format_name = "shardmark-plan/1";

Shard shard_from(const Json& object, const std::string& where) {
  expect_keys(object, where, {"rows", "columns", "rank"});
  const auto rows = list_of(object, "rows", 3, where);
  const auto columns = list_of(object, "columns", 2, where);
  return {{rows[0], rows[1], rows[2]}, columns[0], columns[1], int_of(object, "rank", where)};
}

Storage storage_from(const Json& object, const std::string& where) {
  return choice_named(storages(), where + ": storage", text_of(object, "storage", where)).value;
}

TablePlacement placement_from(const Json& object, const std::string& where) {
  expect_keys(object, where, {"name", "storage", "hot_rows", "data_parallel", "shards"});
  if (object.contains("data_parallel") == object.contains("shards"))
    throw InputError(where + ": give either \"data_parallel\": true or \"shards\"");
  TablePlacement placement;
  if (object.contains("storage")) placement.storage = storage_from(object, where);
  if (object.contains("hot_rows")) placement.hot_rows = whole_of(object, "hot_rows", where);
  if (object.contains("data_parallel")) {
    if (object["data_parallel"] != true) throw InputError(where + ": 'data_parallel' can only be true");
    placement.data_parallel = true;
    return placement;
  }
  const Json& shards = object["shards"];
  if (!shards.is_array()) throw InputError(where + ": 'shards' must be a list");
  for (const Json& shard : shards)
    placement.shards.push_back(shard_from(shard, fmt::format("{}, shard {}", where, placement.shards.size())));
  return placement;
}

Json json_of(const Shard& shard) {
  const RowSet& rows = shard.rows;
  return {{"rows", Json::array({rows.begin, rows.end, rows.stride})},
          {"columns", Json::array({shard.column_begin, shard.column_end})},
          {"rank", shard.rank}};
}

std::string line_of(const TablePlacement& placement, const Table& table) {
  std::string head = "\"name\":" + Json(table.name).dump();
  if (placement.storage) head += fmt::format(",\"storage\":\"{}\"", name_of(*placement.storage));
  if (placement.hot_rows != 0) head += fmt::format(",\"hot_rows\":{}", placement.hot_rows);
  if (placement.data_parallel) return fmt::format("  {{{},\"data_parallel\":true}}", head);
  std::string shards;
  for (const Shard& shard : placement.shards) shards += (shards.empty() ? "\n    " : ",\n    ") + json_of(shard).dump();
  return fmt::format("  {{{},\"shards\":[{}]}}", head, shards);
}

}  // namespace

std::string plan_to_json(const Plan& plan, std::span<const Table> tables) {
  std::vector<std::string> lines;
  for (std::size_t t = 0; t < tables.size(); ++t) lines.push_back(line_of(plan.tables.at(t), tables[t]));
  return fmt::format("{{\"format\":\"{}\",\"name\":{},\"ranks\":{},\"tables\":[\n{}\n]}}\n", format_name,
                     Json(plan.name).dump(), plan.ranks, fmt::join(lines, ",\n"));
}

Plan plan_from_json(std::string_view text, std::string_view origin, std::span<const Table> tables,
                    std::vector<std::string>* problems) {
  const Json document = parse_json(text, origin);
  const std::string where(origin);
  expect_keys(document, where, {"format", "name", "ranks", "tables"});
  if (const std::string format = text_of(document, "format", where); format != format_name)
    throw InputError(fmt::format("{}: format '{}' is not '{}'", where, format, format_name));
  Plan plan{.name = text_of(document, "name", where), .ranks = int_of(document, "ranks", where), .tables = {}};
  plan.tables.resize(tables.size());

  std::unordered_map<std::string, std::size_t> unplaced;
  for (std::size_t t = 0; t < tables.size(); ++t) unplaced.emplace(tables[t].name, t);
  const Json& entries = value_of(document, "tables", where);
  if (!entries.is_array()) throw InputError(where + ": 'tables' must be a list");
  const auto attempt = [&](const auto& read) {
    try {
      read();
    } catch (const InputError& error) {
      if (problems == nullptr) throw;
      problems->emplace_back(error.what());
    }
  };
  const auto read_entry = [&](std::size_t e) {
    const std::string entry = fmt::format("{}, table {}", where, e);
    if (!entries[e].is_object()) throw InputError(entry + ": expected a JSON object");
    const std::string name = text_of(entries[e], "name", entry);
    const auto found = unplaced.find(name);
    if (found == unplaced.end())
      throw InputError(
          fmt::format("{} '{}': the workload has no such table, or the plan places it twice", entry, name));
    const std::size_t number = found->second;
    unplaced.erase(found);
    plan.tables[number] = placement_from(entries[e], fmt::format("{}, table '{}'", where, name));
  };
  for (std::size_t e = 0; e < entries.size(); ++e) attempt([&] { read_entry(e); });
  for (const Table& table : tables)
    attempt([&] {
      if (unplaced.contains(table.name))
        throw InputError(
            fmt::format("{}: table '{}' is missing; place every table of the workload", where, table.name));
    });
  return plan;
}

std::string plan_digest(const Plan& plan, std::span<const Table> tables) {
  std::vector<std::string> lines;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    TablePlacement placement = plan.tables.at(t);
    std::ranges::sort(placement.shards, {}, [](const Shard& shard) {
      return std::tuple(shard.rows.begin, shard.rows.end, shard.rows.stride, shard.column_begin, shard.column_end,
                        shard.rank);
    });
    lines.push_back(line_of(placement, tables[t]));
  }
  std::ranges::sort(lines);
  const std::string text = fmt::format("{} {}\n{}", format_name, plan.ranks, fmt::join(lines, "\n"));
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

}  // namespace shardmark::placement
