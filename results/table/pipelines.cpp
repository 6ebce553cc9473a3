// SPDX-License-Identifier: Apache-2.0
#include "results/table/pipelines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "results/async_fields.hpp"

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;

constexpr char row_format[] = "{:<7} {:<20} {:>5} {:>8} {:>5} {:>13} {:>8} {:>8} {:>8} {:>8} {:>6} {:>5} {:>5}";

Json pipeline_of(const CaseRecord& record) {
  const Json pipeline = record.details.value(async_fields::object, Json());
  return pipeline.is_object() ? pipeline : Json::object();
}

/// The number at "/queue_depth/mean" as `show` writes it; "-" where there is none.
template <class Show>
std::string number_at(const Json& pipeline, const std::string& path, const Show& show) {
  const Json::json_pointer pointer(path);
  if (!pipeline.contains(pointer) || !pipeline.at(pointer).is_number()) return "-";
  return show(pipeline.at(pointer).get<double>());
}

std::string whole(double x) { return fmt::format("{:.0f}", x); }
std::string percent(double x) { return fmt::format("{:.0f}%", 100.0 * x); }
std::string signed_percent(double x) { return fmt::format("{:+.0f}%", 100.0 * x); }
std::string megabytes_text(double x) { return fmt::format("{:.1f}", 1e-6 * x); }

std::string cell(const Json& pipeline, const char* name) {
  return number_at(pipeline, fmt::format("/{}", name), figure);
}

/// "shared (cpus 0-1; 2-3)"; empty where the record does not say.
std::string pool_of(const Json& pipeline) {
  const std::string pool = pipeline.value(async_fields::pool, "");
  if (!pipeline.contains(async_fields::processing_units)) return pool;
  return fmt::format("{} (cpus {})", pool,
                     fmt::join(pipeline.at(async_fields::processing_units).get<std::vector<std::string>>(), "; "));
}

std::string line_of(const CaseRecord& record) {
  const Json p = pipeline_of(record);
  const auto at = [&](const char* outer, const char* inner, const auto& show) {
    return number_at(p, fmt::format("/{}/{}", outer, inner), show);
  };
  const auto alone = [&](const char* name, const auto& show) { return number_at(p, fmt::format("/{}", name), show); };
  const bool ahead = !p.empty();
  return fmt::format(row_format, plain(record.option("async")), plain(record.plan).substr(0, 20),
                     ahead ? fmt::format("{},{},{}", alone(async_fields::threads, whole),
                                         alone(async_fields::capacity, whole), alone(async_fields::bound, whole))
                           : "-",
                     ahead ? fmt::format("{},{},{}", at(async_fields::staleness, async_fields::p50, whole),
                                         at(async_fields::staleness, async_fields::p99, whole),
                                         at(async_fields::staleness, async_fields::max, whole))
                           : "-",
                     at(async_fields::depth, async_fields::mean, [](double x) { return fmt::format("{:.1f}", x); }),
                     ahead ? fmt::format("{} {}", at(async_fields::stalls, async_fields::batch, figure),
                                         at(async_fields::stalls, async_fields::update, figure))
                           : "-",
                     cell(p, async_fields::prepare_ms), cell(p, async_fields::main_ms),
                     cell(p, async_fields::predicted_ms), figure(record.step_ms.median),
                     alone(async_fields::error, signed_percent), alone(async_fields::again, percent),
                     alone(async_fields::buffered_bytes, megabytes_text));
}

bool by_completion(const CaseRecord& record) { return record.option("async_order") == "completion"; }

/// "rows", "rows by completion": where both orders are among the cases they stand apart.
std::string config_of(const CaseRecord& record) {
  return plain(record.option("async")) + (by_completion(record) ? " by completion" : "");
}

Records fastest_of_each_config(const Records& ranked) {
  Records fastest;
  for (const CaseRecord* record : ranked)
    if (std::ranges::none_of(fastest, [&](const CaseRecord* other) { return config_of(*other) == config_of(*record); }))
      fastest.push_back(record);
  return fastest;
}

/// Returns the ms of reading a batch, by threads that prefetch or by the step itself; empty where batches are in
/// memory.
std::string read_ms_of(const CaseRecord& record) {
  const Json pipeline = pipeline_of(record);
  const Json ms = pipeline.contains(async_fields::read_ms) ? pipeline.at(async_fields::read_ms)
                                                           : record.details.value(async_fields::read_ms, Json());
  return ms.is_number() ? figure(ms.get<double>()) : "";
}

/// "off 1.2, rows 0.8"
void append(std::string& list, const std::string& label, const std::string& value) {
  if (!value.empty()) list += fmt::format("{}{} {}", list.empty() ? "" : ", ", label, value);
}

}  // namespace

std::vector<std::string> pipeline_lines(const Records& ranked) {
  if (std::ranges::all_of(ranked, [](const CaseRecord* record) { return pipeline_of(*record).empty(); })) return {};
  std::vector<std::string> lines{fmt::format(row_format, "async", "plan", "T,C,S", "stale", "depth", "waits", "prepare",
                                             "main", "formula", "ms", "error", "again", "MB")};
  std::string exposed, pools, overtaking, reading;
  for (const CaseRecord* record : fastest_of_each_config(ranked)) {
    const Json pipeline = pipeline_of(*record);
    const std::string mode = config_of(*record);
    lines.push_back(line_of(*record));
    append(pools, mode, pool_of(pipeline));
    append(reading, mode, read_ms_of(*record));
    append(exposed, mode, record->exposed_ms ? figure(*record->exposed_ms) : "");
    if (pipeline.contains(async_fields::overtaking))
      append(overtaking, mode, percent(pipeline.at(async_fields::overtaking).get<double>()));
  }
  lines.push_back(fmt::format("exposed communication, ms: {}", exposed));
  if (!pools.empty()) lines.push_back(fmt::format("batches are prepared by: {}", pools));
  if (!reading.empty())
    lines.push_back(fmt::format("reading a batch, ms, prefetched but with off and inline: {}", reading));
  if (!overtaking.empty())
    lines.push_back(
        fmt::format("steps that took a batch before an older one, in the order of completion: {}", overtaking));
  lines.push_back(
      "T threads, C places, S bound; stale: updates that rows lack (p50,p99,max); depth: batches that wait;");
  lines.push_back("waits, ms: steps for batches, updates for lookups; formula: max(prepare / T, main) beside ms;");
  lines.push_back("again: vectors that are sent twice; MB: batches in memory, of the rank with most");
  return lines;
}

}  // namespace shardmark::results
