// SPDX-License-Identifier: Apache-2.0
#include "workloads/batches/workload_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "datasets/data_statistics.hpp"
#include "reference/error.hpp"
#include "reference/input_file.hpp"
#include "reference/json.hpp"
#include "reference/output_file.hpp"
#include "workloads/cases/placement_inputs.hpp"

namespace shardmark::workloads {
namespace {

using StatisticsJson = nlohmann::ordered_json;
constexpr std::string_view statistics_format = "shardmark-statistics/1";

datasets::SourceOptions source_of(const Workload& workload, const DataOptions& data) {
  constexpr std::int64_t enough = std::int64_t{1} << 24, batches = 4;
  return {.rows = rows_of_features(workload),
          .rule = data.id_rule,
          .min_count = data.min_count,
          .reader = {.malformed = data.malformed},
          .limit = std::max(enough, batches * workload.global_batch)};
}

/// Returns what the counts of a file depend on.
StatisticsJson dependencies(const Workload& workload, const DataOptions& data) {
  std::error_code failed;
  const auto bytes = std::filesystem::file_size(data.file, failed);
  if (failed) throw InputError(fmt::format("{}: cannot open: {}", data.file, failed.message()));
  const datasets::SourceOptions source = source_of(workload, data);
  StatisticsJson tables = StatisticsJson::array();
  for (const Feature& feature : workload.features) tables.push_back(feature.table);
  return {{"bytes", bytes},
          {"modified", std::filesystem::last_write_time(data.file).time_since_epoch().count()},
          {"ids", name_of(source.rule)},
          {"min_count", source.min_count},
          {"malformed", name_of(data.malformed)},
          {"most_samples", source.limit},
          {"rows_of_features", source.rows},
          {"tables_of_features", tables}};
}

std::vector<placement::RowCount> counts_of_table(const std::vector<const datasets::ValueTable*>& features) {
  datasets::ValueTable sum;
  for (const datasets::ValueTable* ids : features)
    ids->for_each([&](std::uint32_t id, std::int64_t times) { sum[id] += times; });
  std::vector<placement::RowCount> counts;
  counts.reserve(sum.size());
  sum.for_each([&](std::uint32_t id, std::int64_t times) { counts.push_back({id, times}); });
  return counts;
}

/// Gives keys the numbers of rows by falling counts, as many as the table is expected to have.
void number_keys(std::int64_t expected, std::vector<placement::RowCount>& keys) {
  std::ranges::sort(keys, [](const placement::RowCount& a, const placement::RowCount& b) {
    return a.ids != b.ids ? a.ids > b.ids : a.row < b.row;
  });
  if (std::ssize(keys) > expected) keys.resize(static_cast<std::size_t>(expected));
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i].row = static_cast<std::int64_t>(i);
}

placement::MeasuredIds count(const Workload& workload, const DataOptions& data, const datasets::Notice& notice) {
  const datasets::IdCounts counts =
      datasets::count_ids(data.file, source_of(workload, data), notice, [](std::int64_t) {});
  if (!counts.whole) notice(fmt::format("{}: statistics of its first {} samples", data.file, counts.samples));
  placement::MeasuredIds ids{.samples = counts.samples, .features = {}, .tables = {}};
  std::vector<std::vector<const datasets::ValueTable*>> readers(workload.tables.size());
  for (std::size_t f = 0; f < counts.features.size(); ++f) {
    const datasets::FeatureCounts& feature = counts.features[f];
    ids.features.emplace_back(feature.bags.begin(), feature.bags.end());
    readers[workload.features[f].table].push_back(&feature.ids);
  }
  for (std::size_t t = 0; t < readers.size(); ++t) {
    const Table& table = workload.tables[t];
    std::vector<placement::RowCount> rows = counts_of_table(readers[t]);
    if (table.any_key) number_keys(table.rows, rows);
    ids.tables.push_back(placement::popularity_of(table.rows, rows));
  }
  return ids;
}

/// Returns what the statistics file holds for these dependencies; absent where there is no file, or one of something
/// else.
std::optional<placement::MeasuredIds> kept(const std::string& file, const StatisticsJson& of,
                                           const datasets::Notice& notice) {
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(file, unreadable)) return std::nullopt;
  try {
    const StatisticsJson json = parse_json(file_text(file).value_or(""), file);
    if (json.value("format", "") != statistics_format || json.value("of", StatisticsJson()) != of) return std::nullopt;
    return placement::measured_ids_from_json(json.value("ids", StatisticsJson()), file);
  } catch (const std::exception& error) {
    notice(fmt::format("{}; counting again", error.what()));
    return std::nullopt;
  }
}

void keep(const std::string& file, const StatisticsJson& of, const placement::MeasuredIds& ids,
          const datasets::Notice& notice) {
  const StatisticsJson json{{"format", statistics_format}, {"of", of}, {"ids", placement::to_json(ids)}};
  try {
    write_file(file, json.dump() + "\n");
  } catch (const InputError& error) {
    notice(fmt::format("{}; the statistics of the data are not kept", error.what()));
  }
}

}  // namespace

std::string statistics_file(const std::string& data_file) { return data_file + ".statistics.json"; }

placement::MeasuredIds measured_ids_of(const Workload& workload, const DataOptions& data,
                                       const datasets::Notice& notice) {
  const StatisticsJson of = dependencies(workload, data);
  const std::string file = statistics_file(data.file);
  if (auto known = kept(file, of, notice)) return *std::move(known);
  placement::MeasuredIds ids = count(workload, data, notice);
  keep(file, of, ids, notice);
  return ids;
}

placement::IdStatistics id_statistics_of(const Workload& workload, const DataOptions& data,
                                         const datasets::Notice& notice) {
  placement::IdStatistics ids = id_statistics_of(workload.ids);
  if (!data.file.empty())
    ids.measured = std::make_shared<placement::MeasuredIds>(measured_ids_of(workload, data, notice));
  return ids;
}

placement::LookupStatistics lookup_statistics_of(const Workload& workload, const DataOptions& data,
                                                 const datasets::Notice& notice) {
  return {workload.tables, workload.features, id_statistics_of(workload, data, notice)};
}

placement::IdStatistics id_statistics_of(const comm::Communicator& comm, const Workload& workload,
                                         const DataOptions& data, const datasets::Notice& notice) {
  placement::IdStatistics ids = id_statistics_of(workload.ids);
  if (data.file.empty()) return ids;
  std::string text = comm::agree(comm, [&] {
    return comm.rank() == 0 ? placement::to_json(measured_ids_of(workload, data, notice)).dump() : std::string();
  });
  comm::broadcast(comm, text, 0);
  ids.measured =
      std::make_shared<placement::MeasuredIds>(placement::measured_ids_from_json(parse_json(text), data.file));
  return ids;
}

}  // namespace shardmark::workloads
