// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "results/scaling.hpp"
#include "results/table/page.hpp"
#include "results/table/plain_page.hpp"

namespace shardmark::results {
namespace {

/// "plan row_wise, ranks 2": lines are broken between the items, not in them.
std::string items_text(const std::vector<std::string>& items, std::size_t width) {
  constexpr char held = '\x1f';  // a control character, of which there are none in what is printed
  std::string joined;
  for (const std::string& item : items) {
    std::string whole = item;
    std::ranges::replace(whole, ' ', held);
    joined += (joined.empty() ? "" : ", ") + whole;
  }
  std::string lines = joined.empty() ? "" : wrapped(joined, "# ", "#   ", width);
  std::ranges::replace(lines, held, ' ');
  return lines;
}

std::string cases_text(const Page& page, const TableOptions& options) {
  const auto remark = [&](const std::string& text) { return wrapped(text, "# ", "#   ", options.width); };
  const Layout layout = laid_out(page.sheet.columns, page.lines, options.width);
  std::string text = items_text(page.sheet.constants, options.width);
  text += remark(legend(page, layout.columns));
  for (const std::string& each : page.remarks) text += remark(each);
  if (!layout.left_out.empty())
    text += remark(fmt::format("left out, as lines would be too long: {} (--format csv has them)",
                               fmt::join(layout.left_out, ", ")));
  if (!page.cases.empty()) text += remark(page.cases);
  return text + text_lines(layout.columns, page.lines);
}

/// Each line is a remark.
std::string phases_text(const PhaseTable& table, std::size_t width) {
  std::string text = wrapped(table.title, "# ", "#   ", width), lines = text_lines(table.columns, table.lines);
  for (std::size_t begin = 0; begin < lines.size(); begin = lines.find('\n', begin) + 1) lines[begin] = '#';
  return text + lines;
}

std::string page_text(const Page& page, const TableOptions& options) {
  std::string text;
  for (const std::string& line : page.where) text += wrapped(line, "# ", "#   ", options.width);
  if (!page.lines.empty()) text += cases_text(page, options);
  for (const PhaseTable& phases : page.phases) text += phases_text(phases, options.width);
  for (const auto* lines : {&page.pipelines, &page.qualities})
    for (const std::string& line : *lines) text += fmt::format("# {}\n", line);
  for (const std::string& line : page.tts) text += wrapped(line, "# ", "#   ", options.width);
  if (!page.published.empty()) text += wrapped(page.published, "# ", "#   ", options.width);
  if (!page.disturbance.empty()) text += wrapped(page.disturbance, "", "    ", options.width);
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
  if (const auto scaling = scaling_of(reports, options.all)) {
    if (scaling->differing.empty()) return scaling_text(*scaling, reports, options);
    for (const std::string& line : scaling->differing)
      text += wrapped("no table of scaling: " + line, "# ", "#   ", options.width);
  }
  for (const Report& report : reports) {
    if (reports.size() > 1) text += fmt::format("{}# file {}\n", text.empty() ? "" : "\n", report.name);
    const auto plain_page = plain_page_of(report);
    text += plain_page ? plain_text(*plain_page, options) : results_table(report.environment, report.cases, options);
  }
  return text;
}

}  // namespace shardmark::results
