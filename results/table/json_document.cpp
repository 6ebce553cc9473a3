// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "results/google_benchmark.hpp"
#include "results/prediction_quality.hpp"
#include "results/results_table.hpp"
#include "results/scaling.hpp"
#include "results/table/answer.hpp"
#include "results/table/exchanges.hpp"
#include "results/table/page.hpp"
#include "results/table/predictions.hpp"
#include "results/verdict.hpp"

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;
using Cases = std::span<const CaseRecord>;

Json or_null(std::optional<double> x) { return x ? Json(*x) : Json(nullptr); }

std::ptrdiff_t number_of(const CaseRecord& record, Cases cases) { return &record - cases.data(); }

/// Returns the cases of each value of what `same` compares, in the order of the file.
template <class Same>
std::vector<Records> grouped(Cases cases, Same&& same) {
  std::vector<Records> groups;
  for (const CaseRecord& record : cases) {
    auto group = std::ranges::find_if(groups, [&](const Records& each) { return same(*each.front(), record); });
    if (group == groups.end()) group = groups.insert(group, Records());
    group->push_back(&record);
  }
  return groups;
}

Json parts_json(const CaseRecord& record) {
  const auto parts = step_parts(record);
  if (parts.empty()) return nullptr;
  Json json = Json::object();
  for (const auto& [phase, ms] : parts) json[phase] = ms;
  return json;
}

Json case_json(const CaseRecord& record, std::ptrdiff_t number, const Findings& findings) {
  const auto time = predicted_time(record);
  return {{"number", number},
          {"workload", record.workload},
          {"plan", record.plan},
          {"name", findings.name_of(record)},
          {"leads", std::ranges::find(findings.leaders, &record) != findings.leaders.end()},
          {"options", record.options},
          {"valid", is_valid(record)},
          {"rank", nullptr},
          {"step_ms", {{"median", record.step_ms.median}, {"low", record.step_ms.low}, {"high", record.step_ms.high}}},
          {"samples_per_s", record.samples_per_s},
          {"ratio", nullptr},
          {"tied", false},
          {"parts", parts_json(record)},
          {"predicted_ms", or_null(record.predicted_ms)},
          {"error", time ? Json(time->error()) : Json(nullptr)}};
}

/// "criteo-kaggle on AMD EPYC, 2026-11-26, commit 93426310, 2 ranks of 1 thread on 1 node".
std::string circumstances_of(const Report& report) {
  const CaseRecord& first = report.cases.front();
  const bool alike = std::ranges::all_of(report.cases, [&](const CaseRecord& record) {
    return record.ranks == first.ranks && record.threads == first.threads;
  });
  const auto counted = [](std::int64_t number, const char* thing) {
    return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
  };
  std::string text = build_text(report);
  if (alike)
    text += fmt::format(", {} of {} on {}", counted(first.ranks, "rank"), counted(first.threads, "thread"),
                        counted(nodes_of(report.environment), "node"));
  return text;
}

Json cases_json(const Json& environment, Cases cases) {
  Json json = Json::array();
  if (cases.empty()) return json;
  const Findings findings = findings_of(environment, cases);
  for (const CaseRecord& record : cases) {
    json.push_back(case_json(record, number_of(record, cases), findings));
    if (const auto stopped = record.details.find("stopped"); stopped != record.details.end())
      json.back()["stopped"] = *stopped;
  }
  for (const Records& job : grouped(cases, same_job)) {
    const Records order = ranked(job);
    const std::int64_t pairs =
        pairs_of(std::ranges::count_if(job, [](const CaseRecord* each) { return is_valid(*each); }));
    for (std::size_t i = 0; i < order.size(); ++i) {
      Json& each = json[static_cast<std::size_t>(number_of(*order[i], cases))];
      each["rank"] = i + 1;
      if (!is_valid(*order.front())) continue;
      each["ratio"] = time_ratio(*order[i], *order.front()).ratio;
      each["tied"] =
          is_valid(*order[i]) && (i == 0 || !time_ratio(*order[i], *order.front(), pairs).is_distinguishable());
    }
  }
  return json;
}

Json ratio_json(const CaseRecord& slow, const CaseRecord& fast, const TimeRatio& r, Cases cases) {
  return {{"slow", number_of(slow, cases)},
          {"fast", number_of(fast, cases)},
          {"ratio", r.ratio},
          {"low", r.has_interval() ? Json(r.low) : Json(nullptr)},
          {"high", r.has_interval() ? Json(r.high) : Json(nullptr)},
          {"rounds", r.rounds},
          {"distinguishable", r.is_distinguishable()}};
}

Json ratios_json(Cases cases) {
  Json json = Json::array();
  for (const CaseRecord& one : cases) {
    const std::int64_t pairs = pairs_of(
        std::ranges::count_if(cases, [&](const CaseRecord& each) { return is_valid(each) && same_job(each, one); }));
    for (const CaseRecord& other : cases.subspan(static_cast<std::size_t>(number_of(one, cases)) + 1)) {
      if (!is_valid(one) || !is_valid(other) || one.workload != other.workload) continue;
      const TimeRatio r = time_ratio(other, one, pairs);
      json.push_back(r.ratio < 1.0 ? ratio_json(one, other, time_ratio(one, other, pairs), cases)
                                   : ratio_json(other, one, r, cases));
    }
  }
  return json;
}

/// Rates the predictions of the valid cases among these. It returns null where there are none.
Json quality_json(const Records& records, const Json& workload, bool one_workload, Cases cases) {
  std::vector<PredictedTime> times;
  Records predicted;
  for (const CaseRecord* record : records) {
    const auto time = predicted_time(*record);
    if (!is_valid(*record) || !time) continue;
    times.push_back(*time);
    predicted.push_back(record);
  }
  if (times.empty()) return nullptr;
  const PredictionQuality quality = prediction_quality(times);
  return {{"workload", workload},
          {"cases", times.size()},
          {"mean_error", quality.mean_error},
          {"rank_correlation", one_workload ? or_null(quality.rank_correlation) : Json(nullptr)},
          {"liked", one_workload ? Json(number_of(*predicted[quality.liked], cases)) : Json(nullptr)},
          {"regret", one_workload ? Json(quality.regret) : Json(nullptr)}};
}

Json predictions_json(Cases cases) {
  const auto workloads =
      grouped(cases, [](const CaseRecord& a, const CaseRecord& b) { return a.workload == b.workload; });
  Json json = Json::array();
  Records all;
  for (const Records& records : workloads) {
    Json quality = quality_json(records, records.front()->workload, true, cases);
    if (!quality.is_null()) json.push_back(std::move(quality));
    all.insert(all.end(), records.begin(), records.end());
  }
  Json quality = quality_json(all, nullptr, json.size() < 2, cases);
  if (!quality.is_null()) json.push_back(std::move(quality));
  return json;
}

Json exchanges_json(const Report& report) {
  Json records = Json::array();
  for (const ExchangeRecord& record : report.exchanges) {
    Json json = to_json(record);
    json.erase("record");
    json["time_ms"].erase("samples");
    records.push_back(std::move(json));
  }
  return {{"file", report.name},
          {"exchanges", std::move(records)},
          {"findings", exchange_findings(report.exchanges)},
          {"result", result_line(report)}};
}

Json benchmarks_json(const Report& report) {
  Json rows = Json::array();
  for (const BenchmarkRow& row : benchmark_rows(*report.benchmarks, report.name)) {
    Json counters = Json::object();
    for (const auto& [name, value] : row.counters) counters[name] = value;
    rows.push_back({{"name", row.name},
                    {"median_ms", row.error.empty() ? Json(row.median_ms) : Json(nullptr)},
                    {"error", row.error.empty() ? Json(nullptr) : Json(row.error)},
                    {"counters", std::move(counters)}});
  }
  return {{"file", report.name}, {"benchmarks", std::move(rows)}};
}

Json report_json(const Report& report) {
  if (report.benchmarks) return benchmarks_json(report);
  if (!report.exchanges.empty()) return exchanges_json(report);
  const auto sentences =
      report.cases.empty() ? std::vector<std::string>() : answer(findings_of(report.environment, report.cases));
  return {{"file", report.name},
          {"circumstances", report.cases.empty() ? Json(nullptr) : Json(circumstances_of(report))},
          {"compared", report.cases.empty() ? "plan" : findings_of(report.environment, report.cases).field},
          {"cases", cases_json(report.environment, report.cases)},
          {"ratios", ratios_json(report.cases)},
          {"predictions", predictions_json(report.cases)},
          {"answer", sentences},
          {"result", result_line(report)}};
}

}  // namespace

std::string as_json(std::span<const Report> reports, const TableOptions& options) {
  Json document = Json::array();
  for (const Report& report : reports) document.push_back(report_json(report));
  if (const auto scaling = scaling_of(reports, options.all)) document.push_back(scaling_json(*scaling, reports));
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace shardmark::results
