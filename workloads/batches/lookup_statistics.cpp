// SPDX-License-Identifier: Apache-2.0
#include "workloads/batches/lookup_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "datasets/count_ids.hpp"
#include "reference/error.hpp"
#include "reference/json.hpp"
#include "reference/output_file.hpp"
#include "workloads/cases/plan_request_of.hpp"

namespace shardmark {
namespace {

using StatisticsJson = nlohmann::ordered_json;
constexpr std::string_view statistics_format = "shardmark-statistics/1";

SourceOptions source_of(const Workload& workload, const DataOptions& data) {
  constexpr std::int64_t enough = std::int64_t{1} << 24, batches = 4;
  return {.rows = rows_of_features(workload),
          .rule = data.id_rule,
          .min_count = data.min_count,
          .reader = {.malformed = data.malformed},
          .limit = std::max(enough, batches * workload.global_batch)};
}

/// What the counts of a file depend on.
StatisticsJson dependencies(const Workload& workload, const DataOptions& data) {
  std::error_code failed;
  const auto bytes = std::filesystem::file_size(data.file, failed);
  if (failed) throw InputError(fmt::format("{}: cannot open: {}", data.file, failed.message()));
  const SourceOptions source = source_of(workload, data);
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

std::vector<RowCount> counts_of_table(const std::vector<const ValueTable*>& features) {
  ValueTable sum;
  for (const ValueTable* ids : features) ids->for_each([&](std::uint32_t id, std::int64_t times) { sum[id] += times; });
  std::vector<RowCount> counts;
  counts.reserve(sum.size());
  sum.for_each([&](std::uint32_t id, std::int64_t times) { counts.push_back({id, times}); });
  return counts;
}

MeasuredIds count(const Workload& workload, const DataOptions& data, const Notice& notice) {
  const IdCounts counts = count_ids(data.file, source_of(workload, data), notice, [](std::int64_t) {});
  if (!counts.whole) notice(fmt::format("{}: statistics of its first {} samples", data.file, counts.samples));
  MeasuredIds ids{.samples = counts.samples, .features = {}, .tables = {}};
  std::vector<std::vector<const ValueTable*>> readers(workload.tables.size());
  for (std::size_t f = 0; f < counts.features.size(); ++f) {
    const FeatureCounts& feature = counts.features[f];
    ids.features.emplace_back(feature.bags.begin(), feature.bags.end());
    readers[workload.features[f].table].push_back(&feature.ids);
  }
  for (std::size_t t = 0; t < readers.size(); ++t)
    ids.tables.push_back(popularity_of(workload.tables[t].rows, counts_of_table(readers[t])));
  return ids;
}

/// What the file holds of that; absent where there is none, or of something else.
std::optional<MeasuredIds> kept(const std::string& file, const StatisticsJson& of, const Notice& notice) {
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(file, unreadable)) return std::nullopt;
  try {
    std::ifstream stream(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const StatisticsJson json = parse_json(text, file);
    if (json.value("format", "") != statistics_format || json.value("of", StatisticsJson()) != of) return std::nullopt;
    return measured_ids_from_json(json.value("ids", StatisticsJson()), file);
  } catch (const std::exception& error) {
    notice(fmt::format("{}; counting again", error.what()));
    return std::nullopt;
  }
}

void keep(const std::string& file, const StatisticsJson& of, const MeasuredIds& ids, const Notice& notice) {
  const StatisticsJson json{{"format", statistics_format}, {"of", of}, {"ids", to_json(ids)}};
  try {
    write_file(file, json.dump() + "\n");
  } catch (const InputError& error) {
    notice(fmt::format("{}; the statistics of the data are not kept", error.what()));
  }
}

}  // namespace

std::string statistics_file(const std::string& data_file) { return data_file + ".statistics.json"; }

MeasuredIds measured_ids_of(const Workload& workload, const DataOptions& data, const Notice& notice) {
  const StatisticsJson of = dependencies(workload, data);
  const std::string file = statistics_file(data.file);
  if (auto known = kept(file, of, notice)) return *std::move(known);
  MeasuredIds ids = count(workload, data, notice);
  keep(file, of, ids, notice);
  return ids;
}

IdStatistics id_statistics_of(const Workload& workload, const DataOptions& data, const Notice& notice) {
  IdStatistics ids = id_statistics_of(workload.ids);
  if (!data.file.empty()) ids.measured = std::make_shared<MeasuredIds>(measured_ids_of(workload, data, notice));
  return ids;
}

LookupStatistics lookup_statistics_of(const Workload& workload, const DataOptions& data, const Notice& notice) {
  return {workload.tables, workload.features, id_statistics_of(workload, data, notice)};
}

IdStatistics id_statistics_of(const Communicator& comm, const Workload& workload, const DataOptions& data,
                              const Notice& notice) {
  IdStatistics ids = id_statistics_of(workload.ids);
  if (data.file.empty()) return ids;
  std::string text = agree(
      comm, [&] { return comm.rank() == 0 ? to_json(measured_ids_of(workload, data, notice)).dump() : std::string(); });
  broadcast(comm, text, 0);
  ids.measured = std::make_shared<MeasuredIds>(measured_ids_from_json(parse_json(text), data.file));
  return ids;
}

}  // namespace shardmark
