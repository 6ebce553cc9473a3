// SPDX-License-Identifier: Apache-2.0
#include "results/table/predictions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "results/async_fields.hpp"

namespace shardmark::results {
namespace {

/// "+3.4 %"
std::string error_text(double error) { return fmt::format("{:+.1f} %", 100.0 * error); }

std::string error_text(std::optional<double> predicted, double measured) {
  return predicted && measured > 0.0 ? error_text(PredictedTime{*predicted, measured}.error()) : "-";
}

std::string of_one(const CaseRecord& record, const PredictedTime& time) {
  return fmt::format("Predicted were {} ms, {:.1f} % {} than was measured.", figure(*record.predicted_ms),
                     100.0 * std::abs(time.error()), time.error() < 0.0 ? "less" : "more");
}

/// Says which case the predictions rank first, and how much slower than the fastest it is.
std::string regret_text(const Findings& f, const CaseRecord& liked, double regret) {
  if (&liked == &f.best()) return fmt::format("they liked the fastest best, {}", f.name_of(liked));
  return fmt::format("they liked {} best, {:.1f} % slower than the fastest (regret)", f.name_of(liked), 100.0 * regret);
}

/// Returns whether one step overlaps with the next.
bool overlaps_steps(const CaseRecord& record) {
  const auto pipeline = record.details.find(async_fields::object);
  return pipeline != record.details.end() && pipeline->value(async_fields::threads, 0) > 0;
}

/// Returns the sum of the least ms of all phases. It returns nothing where phases or steps overlap, or the step took
/// less than the sum: then it is not known how fast the machine is.
std::optional<double> least_step_ms(const CaseRecord& record) {
  if (overlaps_steps(record)) return std::nullopt;
  double sum = 0.0;
  for (const PhaseTime& phase : record.phases) {
    if (!phase.least_ms) return std::nullopt;
    sum += *phase.least_ms;
  }
  const std::string groups = record.option("groups");
  const bool in_turn = groups == "1" || groups == "-";
  return in_turn && sum <= record.step_ms.median ? std::optional(sum) : std::nullopt;
}

PhaseTable phase_table(const CaseRecord& record, std::string title) {
  std::array<Column, 6> columns{{{.header = "phase", .left_aligned = true},
                                 {.header = "measured"},
                                 {.header = "predicted"},
                                 {.header = "error"},
                                 {.header = "least"},
                                 {.header = "measured/least"}}};
  auto& [names, measured_ms, predicted_ms, errors, least_ms, ratios] = columns;
  std::vector<Line> lines;
  std::vector<std::optional<double>> times, predictions, limits;
  const auto add = [&](const std::string& name, double measured, std::optional<double> predicted,
                       std::optional<double> least) {
    lines.push_back({lines.size()});
    names.cells.push_back(name);
    times.emplace_back(measured);
    predictions.push_back(predicted);
    limits.push_back(least);
    errors.cells.push_back(error_text(predicted, measured));
    ratios.cells.push_back(least && *least > 0.0 ? fmt::format("{:.1f}", measured / *least) : "-");
  };
  for (const PhaseTime& phase : record.phases) add(phase.name, phase.median_ms, phase.predicted_ms, phase.least_ms);
  add("step", record.step_ms.median, record.predicted_ms, least_step_ms(record));
  measured_ms.cells = figures(times);
  predicted_ms.cells = figures(predictions);
  least_ms.cells = figures(limits);
  return {.title = std::move(title), .columns = {columns.begin(), columns.end()}, .lines = std::move(lines)};
}

}  // namespace

std::optional<PredictedTime> predicted_time(const CaseRecord& record) {
  if (!record.predicted_ms || *record.predicted_ms <= 0.0 || record.step_ms.median <= 0.0) return std::nullopt;
  const auto samples = static_cast<double>(record.global_batch());
  return PredictedTime{*record.predicted_ms / samples, record.step_ms.median / samples, record.step()};
}

std::vector<Column> limit_columns(const Records& records) {
  Column limit{.header = "limit", .importance = Importance::limit_time, .unit = " ms", .legend = "limit: these ms"};
  Column share{.header = "% limit",
               .importance = Importance::limit,
               .legend =
                   "% limit: ms that the measured speed of memory and links allows for the bytes that must "
                   "move / ms"};
  std::vector<std::optional<double>> limits;
  for (const CaseRecord* record : records) {
    const auto least = limits.emplace_back(least_step_ms(*record));
    const bool known = least && record->step_ms.median > 0.0;
    share.cells.push_back(known ? fmt::format("{:.0f}", 100.0 * *least / record->step_ms.median) : "-");
  }
  limit.cells = figures(limits);
  return {std::move(share), std::move(limit)};
}

std::vector<Column> prediction_columns(const Records& records) {
  Column predicted{.header = "predicted", .importance = Importance::prediction, .unit = " ms"};
  Column error{
      .header = "error", .importance = Importance::prediction, .legend = "error: (predicted - measured) / measured"};
  std::vector<std::optional<double>> predictions;
  for (const CaseRecord* record : records) {
    predictions.push_back(record->predicted_ms);
    error.cells.push_back(error_text(record->predicted_ms, record->step_ms.median));
  }
  predicted.cells = figures(predictions);
  return {std::move(predicted), std::move(error)};
}

std::vector<std::string> prediction_sentences(const Findings& f) {
  std::vector<PredictedTime> times;
  Records cases;
  for (const CaseRecord* record : f.valid) {
    const auto time = predicted_time(*record);
    if (!time) continue;
    times.push_back(*time);
    cases.push_back(record);
  }
  if (cases.empty()) return {};
  if (cases.size() == 1) return {of_one(*cases.front(), times.front())};
  const PredictionQuality quality = prediction_quality(times);
  const std::string ranks = quality.rank_correlation ? fmt::format("rank correlation {:.2f}", *quality.rank_correlation)
                                                     : "no rank correlation";
  return {fmt::format("Predictions of {} cases: {:.1f} % off on average (MAPE), {} (Spearman); {}.", cases.size(),
                      100.0 * quality.mean_error, ranks, regret_text(f, *cases[quality.liked], quality.regret))};
}

std::vector<PhaseTable> phase_tables(const Findings& findings, const Records& records) {
  std::vector<PhaseTable> tables;
  for (const CaseRecord* record : records) {
    const auto has_prediction = [](const PhaseTime& phase) { return phase.predicted_ms || phase.least_ms; };
    if (std::ranges::none_of(record->phases, has_prediction)) continue;
    tables.push_back(
        phase_table(*record, fmt::format("phases of {}, ms; least: what the measured speed of memory and links "
                                         "allows for the same bytes",
                                         findings.name_of(*record))));
  }
  return tables;
}

}  // namespace shardmark::results
