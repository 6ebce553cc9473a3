// SPDX-License-Identifier: Apache-2.0
#include "results/table/pipelines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "results/async_fields.hpp"
#include "results/table/layout.hpp"

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;

Json pipeline_of(const CaseRecord& record) {
  const Json pipeline = record.details.value(async_fields::object, Json());
  return pipeline.is_object() ? pipeline : Json::object();
}

/// The number at "/queue_depth/mean" as `show` writes it; "-" where there is none.
std::string number_at(const Json& pipeline, const std::string& path, std::string (*show)(double)) {
  const Json::json_pointer pointer(path);
  if (!pipeline.contains(pointer) || !pipeline.at(pointer).is_number()) return "-";
  return show(pipeline.at(pointer).get<double>());
}

std::string whole(double x) { return fmt::format("{:.0f}", x); }
std::string percent(double x) { return fmt::format("{:.0f}%", 100.0 * x); }
std::string signed_percent(double x) { return fmt::format("{:+.0f}%", 100.0 * x); }
std::string megabytes_text(double x) { return fmt::format("{:.1f}", 1e-6 * x); }

/// "shared (cpus 0-1; 2-3)"; empty where the record does not say.
std::string pool_of(const Json& pipeline) {
  const std::string pool = pipeline.value(async_fields::pool, "");
  if (!pipeline.contains(async_fields::processing_units)) return pool;
  return fmt::format("{} (cpus {})", pool,
                     fmt::join(pipeline.at(async_fields::processing_units).get<std::vector<std::string>>(), "; "));
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

/// Returns the ms of reading a batch, by threads that prefetch or by the step itself; null where batches are in memory.
Json read_ms_of(const CaseRecord& record) {
  const Json pipeline = pipeline_of(record);
  return pipeline.contains(async_fields::read_ms) ? pipeline.at(async_fields::read_ms)
                                                  : record.details.value(async_fields::read_ms, Json());
}

constexpr std::size_t line_width = 118;  // "# " before them

using Cell = std::function<std::string(const CaseRecord&)>;

struct Quantity {
  std::string name;
  Cell cell;
};

/// Returns a quantity that the pipeline of a case has at "/queue_depth/mean".
Quantity of_pipeline(std::string name, const std::string& path, std::string (*show)(double) = figure) {
  return {std::move(name), [=](const CaseRecord& record) { return number_at(pipeline_of(record), path, show); }};
}

template <class... Names>
std::string path_of(const Names&... names) {
  std::string path;
  ((path += fmt::format("/{}", names)), ...);
  return path;
}

/// Returns the lines of the table, in their order.
std::vector<Quantity> quantities() {
  using namespace async_fields;
  const auto one_decimal = [](double x) { return fmt::format("{:.1f}", x); };
  const auto lacking = [=](const CaseRecord& record) {
    const Json pipeline = pipeline_of(record);
    if (!pipeline.contains(staleness)) return std::string("-");
    const auto at = [&](const char* name) { return number_at(pipeline, path_of(staleness, name), whole); };
    return fmt::format("{}, {}, {}", at(p50), at(p99), at(max));
  };
  return {
      {"plan", [](const CaseRecord& record) { return plain(record.plan); }},
      of_pipeline("threads that prepare batches", path_of(threads), whole),
      of_pipeline("prepared batches that may wait", path_of(capacity), whole),
      of_pipeline("prepared batches that wait, mean", path_of(depth, mean), one_decimal),
      of_pipeline("updates that rows may lack", path_of(bound), whole),
      {"updates that rows lack: median, 99 %, most", lacking},
      {"ms to read a batch",
       [](const CaseRecord& record) {
         const Json ms = read_ms_of(record);
         return ms.is_number() ? figure(ms.get<double>()) : std::string("-");
       }},
      of_pipeline("ms to prepare a batch", path_of(prepare_ms)),
      of_pipeline("ms of a step without that", path_of(main_ms)),
      of_pipeline("ms that steps wait for a batch", path_of(stalls, batch)),
      of_pipeline("ms that updates wait for lookups", path_of(stalls, update)),
      {"ms of communication with nothing beside it",
       [](const CaseRecord& record) { return record.exposed_ms ? figure(*record.exposed_ms) : std::string("-"); }},
      {"ms of a step", [](const CaseRecord& record) { return figure(record.step_ms.median); }},
      of_pipeline("  by max(prepare / threads, without)", path_of(predicted_ms)),
      of_pipeline("  which is off by", path_of(error), signed_percent),
      of_pipeline("vectors that are sent twice", path_of(again), percent),
      of_pipeline("steps whose batch was not the oldest", path_of(overtaking), percent),
      of_pipeline("MB of batches in memory, fullest rank", path_of(buffered_bytes), megabytes_text),
  };
}

/// Returns the table, a column for each case; a quantity that none of them has is left out.
std::vector<std::string> table_of(const Records& cases) {
  std::vector<Column> columns{{.header = "prefetching (--async)", .left_aligned = true}};
  const std::vector<Quantity> all = quantities();
  std::size_t widest = 0;
  for (const Quantity& quantity : all) widest = std::max(widest, quantity.name.size());
  const std::size_t width = (line_width - widest - 2) / cases.size() - 1;
  for (const CaseRecord* record : cases) columns.push_back({.header = shortened(config_of(*record), width)});
  std::vector<Line> lines;
  for (const Quantity& quantity : all) {
    std::vector<std::string> cells;
    for (const CaseRecord* record : cases) cells.push_back(shortened(quantity.cell(*record), width));
    if (std::ranges::all_of(cells, [](const std::string& cell) { return cell == "-"; })) continue;
    columns.front().cells.push_back(quantity.name);
    for (std::size_t c = 0; c < cells.size(); ++c) columns[c + 1].cells.push_back(std::move(cells[c]));
    lines.push_back({lines.size()});
  }
  std::vector<std::string> text;
  std::istringstream table(text_lines(columns, lines));
  for (std::string line; std::getline(table, line);) text.push_back(line.substr(2));
  return text;
}

/// "off 1.2, rows 0.8"
void append(std::string& list, const std::string& label, const std::string& value) {
  if (!value.empty()) list += fmt::format("{}{} {}", list.empty() ? "" : ", ", label, value);
}

}  // namespace

std::vector<std::string> pipeline_lines(const Records& ranked) {
  if (std::ranges::all_of(ranked, [](const CaseRecord* record) { return pipeline_of(*record).empty(); })) return {};
  const Records cases = fastest_of_each_config(ranked);
  std::vector<std::string> lines = table_of(cases);
  std::string pools;
  for (const CaseRecord* record : cases) append(pools, config_of(*record), pool_of(pipeline_of(*record)));
  if (pools.empty()) return lines;
  std::istringstream wrapped_pools(wrapped(pools, "batches are prepared by: ", "  ", line_width));
  for (std::string line; std::getline(wrapped_pools, line);) lines.push_back(line);
  return lines;
}

}  // namespace shardmark::results
