// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/statistics/measured_ids.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reference/error.hpp"

namespace shardmark::placement {
namespace {

using MeasuredJson = nlohmann::ordered_json;

MeasuredJson popularity_to_json(const RowPopularity& popularity) {
  MeasuredJson rows = MeasuredJson::array(), ids = MeasuredJson::array(), ranges = MeasuredJson::array();
  for (const RowCount& row : popularity.popular) {
    rows.push_back(row.row);
    ids.push_back(row.ids);
  }
  for (const RowPopularity::Range& range : popularity.ranges) {
    MeasuredJson classes = MeasuredJson::array();
    for (const RowPopularity::Class& like : range.classes) classes.push_back({like.rows, like.ids});
    ranges.push_back({{"end", range.end}, {"rows_ids", classes}});
  }
  return {{"rows", popularity.rows}, {"popular_rows", rows}, {"popular_ids", ids}, {"ranges", ranges}};
}

RowPopularity popularity_from_json(const MeasuredJson& json) {
  RowPopularity popularity{.rows = json.at("rows").get<std::int64_t>(), .popular = {}, .ranges = {}};
  const auto rows = json.at("popular_rows").get<std::vector<std::int64_t>>();
  const auto ids = json.at("popular_ids").get<std::vector<std::int64_t>>();
  for (std::size_t i = 0; i < rows.size(); ++i) popularity.popular.push_back({rows[i], ids.at(i)});
  for (const MeasuredJson& range : json.at("ranges")) {
    auto& added = popularity.ranges.emplace_back(range.at("end").get<std::int64_t>());
    for (const auto& [number, times] : range.at("rows_ids").get<std::vector<std::pair<std::int64_t, std::int64_t>>>())
      added.classes.push_back({number, times});
  }
  return popularity;
}

/// Whether the popular rows and the ranges lie in the table, in order, with room for the rows that they count.
bool is_sound(const RowPopularity& popularity) {
  std::int64_t next = 0;
  for (const RowCount& row : popularity.popular) {
    if (row.row < next || row.row >= popularity.rows || row.ids < 1) return false;
    next = row.row + 1;
  }
  std::int64_t begin = 0;
  auto row = popularity.popular.begin();
  for (const RowPopularity::Range& range : popularity.ranges) {
    std::int64_t room = range.end - begin;
    for (; row != popularity.popular.end() && row->row < range.end; ++row) --room;
    for (const RowPopularity::Class& like : range.classes) {
      if (like.rows < 1 || like.ids < like.rows) return false;
      room -= like.rows;
    }
    if (range.end <= begin || range.classes.empty() || room < 0) return false;
    begin = range.end;
  }
  return popularity.ranges.empty() || begin == popularity.rows;
}

bool are_sound(const MeasuredIds& ids) {
  for (const MeasuredIds::BagLengths& lengths : ids.features) {
    std::int64_t bags = 0;
    for (const auto& [length, number] : lengths) {
      if (length < 0 || number < 1) return false;
      bags += number;
    }
    if (bags != ids.samples) return false;
  }
  return ids.samples > 0 && std::ranges::all_of(ids.tables, is_sound);
}

}  // namespace

MeasuredJson to_json(const MeasuredIds& ids) {
  MeasuredJson tables = MeasuredJson::array();
  for (const RowPopularity& popularity : ids.tables) tables.push_back(popularity_to_json(popularity));
  return {{"samples", ids.samples}, {"ids_bags", ids.features}, {"tables", tables}};
}

MeasuredIds measured_ids_from_json(const MeasuredJson& json, std::string_view origin) {
  MeasuredIds ids;
  try {
    ids.samples = json.at("samples").get<std::int64_t>();
    ids.features = json.at("ids_bags").get<std::vector<MeasuredIds::BagLengths>>();
    for (const MeasuredJson& table : json.at("tables")) ids.tables.push_back(popularity_from_json(table));
  } catch (const std::exception& error) {  // of the library, and of at()
    throw InputError(fmt::format("{}: {}", origin, error.what()));
  }
  if (!are_sound(ids)) throw InputError(fmt::format("{}: counts of ids that contradict each other", origin));
  return ids;
}

void require_fitting(const MeasuredIds& ids, std::span<const Table> tables, std::span<const Feature> features) {
  bool fit = ids.tables.size() == tables.size() && ids.features.size() == features.size();
  for (std::size_t t = 0; fit && t < tables.size(); ++t) fit = ids.tables[t].rows == tables[t].rows;
  if (!fit) throw InputError("the statistics of the data are of other tables than the workload's");
}

}  // namespace shardmark::placement
