// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "results/scaling.hpp"
#include "results/table/page.hpp"
#include "results/verdict.hpp"

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;

double per_rank(const CaseRecord& record) {
  return static_cast<double>(record.global_batch()) / static_cast<double>(record.ranks);
}

/// Returns the fields that distinguish the cases of the rows, but for the plan and what grows with the ranks.
std::vector<std::string> fields_of_rows(const ScalingTable& table) {
  Records records;
  for (const ScalingRow& row : table.rows) records.push_back(row.record);
  std::vector<std::string> fields = differing_fields(records);
  std::erase_if(fields, [](const std::string& field) {
    return field == "plan" || field == "ranks" || field == "batch" || field == "batches";
  });
  return fields;
}

std::vector<Column> columns_of(const ScalingTable& table) {
  std::vector<Column> columns;
  const auto add = [&](std::string header, Importance importance, bool left_aligned, auto&& cell) {
    Column& column = columns.emplace_back(Column{std::move(header), importance, left_aligned});
    for (const ScalingRow& row : table.rows) column.cells.push_back(cell(row));
  };
  add("plan", Importance::choice, true, [](const ScalingRow& row) { return value_of(*row.record, "plan"); });
  for (const std::string& field : fields_of_rows(table))
    add(field, Importance::choice, true, [&](const ScalingRow& row) { return value_of(*row.record, field); });
  add("ranks", Importance::choice, false, [](const ScalingRow& row) { return std::to_string(row.record->ranks); });
  add("nodes", Importance::choice, false, [](const ScalingRow& row) { return std::to_string(row.nodes); });
  if (std::ranges::any_of(table.rows, [](const ScalingRow& row) { return row.launches > 1; }))
    add("launches", Importance::choice, false, [](const ScalingRow& row) { return std::to_string(row.launches); });
  add("batch/rank", Importance::choice, false,
      [](const ScalingRow& row) { return fmt::format("{:.10g}", per_rank(*row.record)); });
  add("ms", Importance::choice, false, [](const ScalingRow& row) { return figure(row.median); });
  add("[95 %]", Importance::choice, false,
      [](const ScalingRow& row) { return fmt::format("[{}, {}]", figure(row.low), figure(row.high)); });
  add("samples/s", Importance::ratio, false, [](const ScalingRow& row) { return with_commas(row.samples_per_s()); });
  add("speed-up", Importance::ratio, false, [](const ScalingRow& row) { return fmt::format("{:.2f}", row.speedup); });
  add("efficiency", Importance::ratio, false,
      [](const ScalingRow& row) { return fmt::format("{:.0f} %", 100.0 * row.efficiency); });
  if (std::ranges::any_of(table.rows, [](const ScalingRow& row) { return row.record->predicted_ms.has_value(); }))
    add("predicted", Importance::prediction, false, [](const ScalingRow& row) {
      return row.record->predicted_ms ? figure(*row.record->predicted_ms) : std::string("-");
    });
  return columns;
}

std::vector<Line> lines_of_rows(const ScalingTable& table) {
  std::vector<Line> lines;
  for (std::size_t i = 0; i < table.rows.size(); ++i) lines.push_back({i});
  return lines;
}

/// "strong scaling: 16384 samples a step on any number of ranks".
std::string kind_text(const ScalingTable& table) {
  const CaseRecord& first = *table.rows.front().record;
  if (table.scaling == Scaling::strong)
    return fmt::format("strong scaling: {} samples a step on any number of ranks", first.global_batch());
  if (table.scaling == Scaling::weak)
    return fmt::format("weak scaling: {:.10g} samples a step and rank", per_rank(first));
  return "neither strong nor weak scaling: both the samples of a step and those of a rank differ";
}

std::vector<std::string> heading(const ScalingTable& table, std::span<const Report> reports) {
  std::vector<std::string> lines{where_lines(reports.front().environment).front()};
  std::string files;
  for (const Report& report : reports) files += (files.empty() ? "" : ", ") + plain(report.name);
  lines.push_back(fmt::format("{} launches: {}", reports.size(), files));
  if (table.rows.empty()) return lines;
  lines.push_back(fmt::format("{}, {}", plain(table.rows.front().record->workload), kind_text(table)));
  lines.push_back(
      "ms: median step, of several launches the median of theirs, and its interval; speed-up: samples/s over those of "
      "the fewest ranks of the same line of cases; efficiency: speed-up over how many times as many ranks");
  return lines;
}

/// Says what is fastest on the most ranks.
std::string scaling_answer(const ScalingTable& table) {
  const ScalingRow& first = table.rows.front();
  const ScalingRow& last = *std::ranges::find_if(std::views::reverse(table.rows),
                                                 [&](const ScalingRow& row) { return row.line == first.line; });
  return fmt::format(
      "ANSWER: On {} ranks of {} node{} the fastest plan is {}: {} ms [{}, {}] a step, {} samples/s, {:.2f} times "
      "those of {} rank{} ({:.0f} % of {:.4g}).",
      last.record->ranks, last.nodes, last.nodes == 1 ? "" : "s", value_of(*last.record, "plan"), figure(last.median),
      figure(last.low), figure(last.high), with_commas(last.samples_per_s()), last.speedup, first.record->ranks,
      first.record->ranks == 1 ? "" : "s", 100.0 * last.efficiency, last.speedup / last.efficiency);
}

/// Returns how much a verdict says against a file.
int gravity(const Verdict& verdict) {
  if (!verdict.valid) return 3;
  if (!verdict.interrupted.empty()) return 2;
  return verdict.disturbed ? 1 : 0;
}

/// Returns the gravest verdict, with the first file that has it.
std::string scaling_verdict(std::span<const Report> reports) {
  std::vector<Verdict> verdicts;
  for (const Report& report : reports) verdicts.push_back(verdict_of(report.cases, report.environment));
  const auto gravest = std::ranges::max_element(verdicts, {}, gravity);
  if (gravity(*gravest) == 0) return gravest->line();
  const auto alike = std::ranges::count(verdicts, gravity(*gravest), gravity);
  return fmt::format("{} in {}{}", gravest->line(),
                     alike == 1 ? "" : fmt::format("{} of {} files, first ", alike, reports.size()),
                     plain(reports[gravest - verdicts.begin()].name));
}

}  // namespace

std::string scaling_text(const ScalingTable& table, std::span<const Report> reports, const TableOptions& options) {
  std::string text;
  for (const std::string& line : heading(table, reports)) text += wrapped(line, "# ", "#   ", options.width);
  if (!table.rows.empty()) {
    const std::vector<Line> lines = lines_of_rows(table);
    const Layout layout = laid_out(columns_of(table), lines, options.width);
    text += text_lines(layout.columns, lines);
    text += wrapped(scaling_answer(table), "", "    ", options.width);
  }
  return text + scaling_verdict(reports) + '\n';
}

std::string scaling_markdown(const ScalingTable& table, std::span<const Report> reports) {
  std::string text;
  for (const std::string& line : heading(table, reports)) text += fmt::format("- {}\n", line);
  if (!table.rows.empty())
    text += fmt::format("\n{}\n{}\n", markdown_table(columns_of(table), lines_of_rows(table)), scaling_answer(table));
  return text + '\n' + scaling_verdict(reports) + '\n';
}

Json scaling_json(const ScalingTable& table, std::span<const Report> reports) {
  Json rows = Json::array();
  const std::vector<std::string> fields = fields_of_rows(table);
  for (const ScalingRow& row : table.rows) {
    const CaseRecord& record = *row.record;
    const auto batch = static_cast<double>(record.global_batch());
    std::string name = value_of(record, "plan");
    for (const std::string& field : fields) name += fmt::format(", {} {}", field, value_of(record, field));
    rows.push_back(
        {{"plan", record.plan},
         {"name", name},
         {"line", row.line},
         {"ranks", record.ranks},
         {"nodes", row.nodes},
         {"launches", row.launches},
         {"batch", record.global_batch()},
         {"batch_per_rank", per_rank(record)},
         {"step_ms", {{"median", row.median}, {"low", row.low}, {"high", row.high}}},
         {"samples_per_s",
          {{"median", row.samples_per_s()}, {"low", 1e3 * batch / row.high}, {"high", 1e3 * batch / row.low}}},
         {"speedup", row.speedup},
         {"efficiency", row.efficiency},
         {"predicted_ms", record.predicted_ms ? Json(*record.predicted_ms) : Json(nullptr)}});
  }
  return {
      {"scaling",
       table.differing.empty() ? Json(scaling_names[static_cast<std::size_t>(table.scaling)]) : Json(nullptr)},
      {"circumstances",
       table.rows.empty() ? Json(nullptr) : Json(fmt::format("{}; {}", build_text(reports.front()), kind_text(table)))},
      {"workload", table.rows.empty() ? Json(nullptr) : Json(table.rows.front().record->workload)},
      {"differing", table.differing},
      {"rows", std::move(rows)}};
}

}  // namespace shardmark::results
