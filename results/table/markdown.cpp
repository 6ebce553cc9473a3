// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "results/scaling.hpp"
#include "results/table/page.hpp"
#include "results/table/plain_page.hpp"

namespace shardmark::results {
namespace {

/// Text that stays inside its cell and is not taken for markup.
std::string cell(std::string_view text, bool bold) {
  std::string safe;
  for (const char c : text) {
    if (std::string_view("|*`<[\\").find(c) != std::string_view::npos) safe += '\\';
    safe += c;
  }
  return bold && !safe.empty() ? fmt::format(" **{}** |", safe) : fmt::format(" {} |", safe);
}

std::string cases_table(const Page& page) {
  std::vector<Column> columns = page.sheet.columns;
  std::erase_if(columns, [](const Column& column) { return column.importance == Importance::exchange_sum; });
  std::string text = fmt::format("{}\n{}.\n", markdown_table(columns, page.lines), legend(page, columns));
  for (const std::string& remark : page.remarks) text += fmt::format("{}.\n", remark);
  return page.cases.empty() ? text : text + fmt::format("Shown: {}.\n", page.cases);
}

std::string page_markdown(const Page& page) {
  std::string text;
  for (const std::string& line : page.where) text += fmt::format("- {}\n", line);
  if (!page.lines.empty()) text += fmt::format("- {}\n\n{}", fmt::join(page.sheet.constants, ", "), cases_table(page));
  for (const PhaseTable& phases : page.phases)
    text += fmt::format("\n{}\n\n{}", phases.title, markdown_table(phases.columns, phases.lines));
  for (const auto* lines : {&page.pipelines, &page.qualities})
    if (!lines->empty()) text += fmt::format("\n```\n{}\n```\n", fmt::join(*lines, "\n"));
  for (const std::string& line : page.tts) text += fmt::format("\n{}\n", line);
  if (!page.published.empty()) text += fmt::format("\n{}\n", page.published);
  text += '\n';
  if (!page.disturbance.empty()) text += fmt::format("**{}**\n\n", page.disturbance);
  if (!page.sentences.empty()) {
    text += fmt::format("**ANSWER**: {}\n\n", page.sentences.front());
    for (std::size_t i = 1; i < page.sentences.size(); ++i) text += fmt::format("- {}\n", page.sentences[i]);
    if (page.sentences.size() > 1) text += '\n';
  }
  return text + page.merit + "\n\n" + page.verdict + '\n';
}

}  // namespace

std::string markdown_table(const std::vector<Column>& columns, const std::vector<Line>& lines) {
  std::string header = "|", rule = "|", rows;
  for (const Column& column : columns) {
    header += cell(column.header, false);
    rule += column.left_aligned ? "--|" : "--:|";
  }
  for (const Line& line : lines) {
    rows += '|';
    for (const Column& column : columns) rows += cell(column.cells[line.record], line.emphasis == Emphasis::best);
    rows += '\n';
  }
  return fmt::format("{}\n{}\n{}", header, rule, rows);
}

std::string as_markdown(std::span<const Report> reports, const TableOptions& options) {
  std::string text;
  if (const auto scaling = scaling_of(reports, options.all)) {
    if (scaling->differing.empty()) return scaling_markdown(*scaling, reports);
    for (const std::string& line : scaling->differing) text += fmt::format("- no table of scaling: {}\n", line);
  }
  for (const Report& report : reports) {
    if (reports.size() > 1) text += fmt::format("{}### {}\n\n", text.empty() ? "" : "\n", report.name);
    const auto plain_page = plain_page_of(report);
    text += plain_page ? plain_markdown(*plain_page) : page_markdown(page_of(report, options.all));
  }
  return text;
}

}  // namespace shardmark::results
