// SPDX-License-Identifier: Apache-2.0
#include "results/google_benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "reference/error.hpp"
#include "results/json_text.hpp"
#include "results/statistics.hpp"

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;

struct TimeUnit {
  std::string_view name;
  double milliseconds;
};
constexpr std::array units{TimeUnit{"ns", 1e-6}, TimeUnit{"us", 1e-3}, TimeUnit{"ms", 1.0}, TimeUnit{"s", 1e3}};

/// Keys of the context that must agree, as this project's programs and the library itself write them.
constexpr std::array compared_keys{"host_name",  "cpu",   "num_cpus", "compiler",
                                   "build_type", "flags", "kokkos",   "transparent_huge_pages",
                                   "threads",    "scale", "seed",     "library_build_type"};

/// Numbers of an entry that the library writes itself; all others are counters of the user.
constexpr std::array<std::string_view, 10> library_numbers{"family_index", "per_family_instance_index",
                                                           "repetitions",  "repetition_index",
                                                           "threads",      "iterations",
                                                           "real_time",    "cpu_time",
                                                           "big_o",        "rms"};

/// Reads one entry of "benchmarks".
class Row {
 public:
  Row(const Json& json, std::string origin) : json_(json), origin_(std::move(origin)) {
    if (!json.is_object()) throw InputError(origin_ + " is not an object; measure again");
  }

  std::string text(const char* key, std::string otherwise = "") const {
    const auto value = json_.find(key);
    return value != json_.end() && value->is_string() ? value->get<std::string>() : std::move(otherwise);
  }

  std::string name() const {
    std::string name = text("run_name", text("name"));
    if (name.empty()) throw InputError(origin_ + " has no name; measure again");
    return name;
  }

  bool failed() const { return json_.value("error_occurred", Json(false)) == Json(true); }

  /// Returns real_time, or the counter of that name.
  double milliseconds(const std::string& counter) const {
    const std::string key = counter.empty() ? "real_time" : counter;
    const auto time = json_.find(key);
    if (time == json_.end() || !time->is_number() || !std::isfinite(time->get<double>()) || time->get<double>() <= 0.0)
      throw InputError(fmt::format("{}: {} is not a number above 0; measure again", origin_, key));
    const std::string unit = counter.empty() ? text("time_unit", "ns") : counter.substr(counter.rfind('_') + 1);
    for (const TimeUnit& known : units)
      if (known.name == unit) return time->get<double>() * known.milliseconds;
    throw InputError(fmt::format("{}: the unit '{}' of {} is none of ns, us, ms, s", origin_, unit, key));
  }

 private:
  const Json& json_;
  std::string origin_;
};

}  // namespace

Launch google_benchmark_launch(const Json& json, const std::string& file, const std::string& counter) {
  Launch launch;
  launch.file = file;
  const Json context = json.contains("context") && json.at("context").is_object() ? json.at("context") : Json::object();
  for (const char* key : compared_keys)
    if (context.contains(key)) launch.context.emplace_back(key, text_of(context.at(key)));
  launch.revision = text_of(context.value("git_hash", Json("")));
  const auto rows = json.find("benchmarks");
  if (rows == json.end() || !rows->is_array())
    throw InputError(file + " has no list of benchmarks: it is not of Google Benchmark; name a results file");
  CaseSamples samples;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const Row row((*rows)[i], fmt::format("{}: benchmarks[{}]", file, i));
    if (row.text("run_type") == "aggregate") continue;
    if (row.failed())
      samples.fail(row.name(), row.text("error_message", "error"));
    else
      samples.add(row.name(), std::array{row.milliseconds(counter)});
  }
  launch.cases = samples.medians();
  if (launch.cases.empty() && !rows->empty())
    throw InputError(file + " holds aggregates only; measure without --benchmark_report_aggregates_only");
  if (launch.cases.empty()) throw InputError(file + " holds no case; measure again");
  return launch;
}

std::vector<BenchmarkRow> benchmark_rows(const Json& json, const std::string& file) {
  std::vector<BenchmarkRow> rows;
  for (const LaunchedCase& each : google_benchmark_launch(json, file).cases)
    rows.push_back({each.name, each.median_ms, each.error, {}});
  std::map<std::string, std::vector<std::pair<std::string, std::vector<double>>>> counters;
  for (const Json& entry : json.at("benchmarks")) {
    const Row row(entry, file);
    if (row.text("run_type") == "aggregate" || row.failed()) continue;
    auto& of_row = counters[row.name()];
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_number() || std::ranges::find(library_numbers, key) != library_numbers.end()) continue;
      auto counter = std::ranges::find(of_row, key, [](const auto& pair) { return pair.first; });
      if (counter == of_row.end()) counter = of_row.insert(counter, {key, {}});
      if (std::isfinite(value.get<double>())) counter->second.push_back(value.get<double>());
    }
  }
  for (BenchmarkRow& row : rows)
    for (const auto& [key, values] : counters[row.name])
      if (!values.empty()) row.counters.emplace_back(key, summarize(values).median);
  return rows;
}

}  // namespace shardmark::results
