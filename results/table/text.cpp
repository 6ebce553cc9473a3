// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "results/table/page.hpp"

namespace shardmark {
namespace {

std::string cases_text(const Page& page, const TableOptions& options) {
  const auto remark = [&](const std::string& text) { return wrapped(text, "# ", "#   ", options.width); };
  const Layout layout = laid_out(page.sheet.columns, page.lines, options.width);
  std::string text;
  if (!page.sheet.constants.empty()) text += remark(fmt::format("{}", fmt::join(page.sheet.constants, ", ")));
  text += remark(legend(layout.columns));
  for (const std::string& each : page.remarks) text += remark(each);
  if (!layout.left_out.empty())
    text += remark(fmt::format("too wide for {}; --format csv has all", fmt::join(layout.left_out, ", ")));
  if (!page.cases.empty()) text += remark(page.cases);
  return text + text_lines(layout.columns, page.lines);
}

std::string page_text(const Page& page, const TableOptions& options) {
  std::string text;
  for (const std::string& line : page.where) text += wrapped(line, "# ", "#   ", options.width);
  if (!page.lines.empty()) text += cases_text(page, options);
  if (!page.published.empty()) text += wrapped(page.published, "# ", "#   ", options.width);
  std::string start = "ANSWER: ";
  for (const std::string& sentence : page.sentences) {
    text += wrapped(sentence, start, "    ", options.width);
    start = "  ";
  }
  return text + page.merit + '\n' + page.verdict + '\n';
}

}  // namespace

std::string results_table(const nlohmann::ordered_json& environment, std::span<const CaseRecord> records,
                          const TableOptions& options) {
  Page page = page_of({environment, records}, options.all);
  if (!options.emphasis)
    for (Line& line : page.lines) line.emphasis = Emphasis::none;
  return page_text(page, options);
}

std::string as_text(std::span<const Report> reports, const TableOptions& options) {
  std::string text;
  for (const Report& report : reports) {
    if (reports.size() > 1) text += fmt::format("{}# file {}\n", text.empty() ? "" : "\n", report.name);
    text += results_table(report.environment, report.cases, options);
  }
  return text;
}

}  // namespace shardmark
