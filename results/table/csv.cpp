// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "results/json_text.hpp"
#include "results/results_table.hpp"
#include "results/verdict.hpp"

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;
using FlatRecord = std::vector<std::pair<std::string, std::string>>;  // field and value

/// The members of objects in objects, each by its path "step_ms.median".
void flatten(const Json& json, const std::string& path, FlatRecord& row) {
  for (const auto& [name, value] : json.items()) {
    const std::string field = path + name;
    if (value.is_object())
      flatten(value, field + '.', row);
    else
      row.emplace_back(field, value.is_null() ? "" : text_of(value));
  }
}

FlatRecord flat(Json json) {
  json.erase("record");
  FlatRecord row;
  flatten(json, "", row);
  return row;
}

std::vector<FlatRecord> rows_of(const Report& report) {
  std::vector<FlatRecord> rows;
  for (const CaseRecord& record : report.cases) {
    Json json = to_json(record);
    json["valid"] = is_valid(record);
    rows.push_back(flat(std::move(json)));
  }
  for (const ExchangeRecord& record : report.exchanges) rows.push_back(flat(to_json(record)));
  if (report.benchmarks)
    for (const Json& entry : report.benchmarks->value("benchmarks", Json::array()))
      if (entry.is_object()) rows.push_back(flat(entry));
  return rows;
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + '"';
}

std::string line_of(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) line += quoted(cell) + ',';
  line.back() = '\n';
  return line;
}

/// The fields of any row, in the order in which they first occur.
std::vector<std::string> fields_of(const std::vector<FlatRecord>& rows) {
  std::vector<std::string> fields;
  for (const FlatRecord& row : rows)
    for (const auto& [field, value] : row)
      if (std::ranges::find(fields, field) == fields.end()) fields.push_back(field);
  return fields;
}

}  // namespace

std::string as_csv(std::span<const Report> reports, const TableOptions&) {
  std::vector<FlatRecord> rows;
  for (const Report& report : reports)
    for (FlatRecord& row : rows_of(report)) {
      if (reports.size() > 1) row.insert(row.begin(), {"file", report.name});
      rows.push_back(std::move(row));
    }
  if (rows.empty()) return "";
  const std::vector<std::string> fields = fields_of(rows);
  std::string text = line_of(fields);
  for (const FlatRecord& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& field : fields) {
      const auto found = std::ranges::find(row, field, &FlatRecord::value_type::first);
      cells.push_back(found == row.end() ? "" : found->second);
    }
    text += line_of(cells);
  }
  return text;
}

}  // namespace shardmark::results
