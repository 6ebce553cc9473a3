// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/plan_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <unordered_map>

#include "comm/placement/json_text.hpp"
#include "reference/error.hpp"

namespace shardmark {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::string_view format_name = "shardmark-plan/1";

/// `where` begins every message: the file, then table and shard as far as they are known.
void expect_keys(const Json& object, const std::string& where, std::initializer_list<std::string_view> known) {
  if (!object.is_object()) throw InputError(where + ": expected a JSON object");
  for (const auto& [key, value] : object.items())
    if (std::ranges::find(known, key) == known.end())
      throw InputError(fmt::format("{}: unknown key '{}'; known: {}", where, key, fmt::join(known, ", ")));
}

const Json& value_of(const Json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end()) throw InputError(fmt::format("{}: key '{}' is missing", where, key));
  return *found;
}

std::string text_of(const Json& object, const char* key, const std::string& where) {
  const Json& value = value_of(object, key, where);
  if (!value.is_string()) throw InputError(fmt::format("{}: '{}' must be a string", where, key));
  return value.get<std::string>();
}

int int_of(const Json& object, const char* key, const std::string& where) {
  const auto value = integer_in(value_of(object, key, where));
  if (!value || *value < std::numeric_limits<int>::min() || *value > std::numeric_limits<int>::max())
    throw InputError(fmt::format("{}: '{}' must be an integer of 32 bits", where, key));
  return static_cast<int>(*value);
}

std::vector<std::int64_t> list_of(const Json& object, const char* key, std::size_t length, const std::string& where) {
  const auto list = integers_in(value_of(object, key, where));
  if (!list || list->size() != length)
    throw InputError(fmt::format("{}: '{}' must be a list of {} integers", where, key, length));
  return *list;
}

Shard shard_from(const Json& object, const std::string& where) {
  expect_keys(object, where, {"rows", "columns", "rank"});
  const auto rows = list_of(object, "rows", 3, where);
  const auto columns = list_of(object, "columns", 2, where);
  return {{rows[0], rows[1], rows[2]}, columns[0], columns[1], int_of(object, "rank", where)};
}

TablePlacement placement_from(const Json& object, const std::string& where) {
  expect_keys(object, where, {"name", "data_parallel", "shards"});
  if (object.contains("data_parallel") == object.contains("shards"))
    throw InputError(where + ": give either \"data_parallel\": true or \"shards\"");
  if (object.contains("data_parallel")) {
    if (object["data_parallel"] != true) throw InputError(where + ": 'data_parallel' can only be true");
    return {.data_parallel = true, .shards = {}};
  }
  const Json& shards = object["shards"];
  if (!shards.is_array()) throw InputError(where + ": 'shards' must be a list");
  TablePlacement placement;
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
  const std::string name = Json(table.name).dump();
  if (placement.data_parallel) return fmt::format("  {{\"name\":{},\"data_parallel\":true}}", name);
  std::string shards;
  for (const Shard& shard : placement.shards) shards += (shards.empty() ? "\n    " : ",\n    ") + json_of(shard).dump();
  return fmt::format("  {{\"name\":{},\"shards\":[{}]}}", name, shards);
}

}  // namespace

std::string plan_to_json(const Plan& plan, std::span<const Table> tables) {
  std::vector<std::string> lines;
  for (std::size_t t = 0; t < tables.size(); ++t) lines.push_back(line_of(plan.tables.at(t), tables[t]));
  return fmt::format("{{\"format\":\"{}\",\"name\":{},\"ranks\":{},\"tables\":[\n{}\n]}}\n", format_name,
                     Json(plan.name).dump(), plan.ranks, fmt::join(lines, ",\n"));
}

Plan plan_from_json(std::string_view text, std::string_view origin, std::span<const Table> tables) {
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
  for (std::size_t e = 0; e < entries.size(); ++e) {
    const std::string entry = fmt::format("{}, table {}", where, e);
    if (!entries[e].is_object()) throw InputError(entry + ": expected a JSON object");
    const std::string name = text_of(entries[e], "name", entry);
    const auto found = unplaced.find(name);
    if (found == unplaced.end())
      throw InputError(
          fmt::format("{} '{}': the workload has no such table, or the plan places it twice", entry, name));
    plan.tables[found->second] = placement_from(entries[e], fmt::format("{}, table '{}'", where, name));
    unplaced.erase(found);
  }
  for (const Table& table : tables)
    if (unplaced.contains(table.name))
      throw InputError(fmt::format("{}: table '{}' is missing; place every table of the workload", where, table.name));
  return plan;
}

}  // namespace shardmark
