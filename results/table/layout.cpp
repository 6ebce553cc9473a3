// SPDX-License-Identifier: Apache-2.0
#include "results/table/layout.hpp"

#include <algorithm>
#include <set>

namespace shardmark::results {
namespace {

constexpr std::size_t least_width = 8;  // of a column whose cells are shortened

/// Whether a byte continues the code point of the byte before it.
bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// The first `count` code points of the text.
std::string_view first(std::string_view text, std::size_t count) {
  std::size_t end = 0;
  for (; end < text.size() && (count > 0 || continues(text[end])); ++end)
    if (end + 1 == text.size() || !continues(text[end + 1])) --count;
  return text.substr(0, end);
}

std::size_t column_width(const Column& column, const std::vector<Line>& lines) {
  std::size_t width = width_of(column.header);
  for (const Line& line : lines) width = std::max(width, width_of(column.cells[line.record]));
  return width;
}

/// Each column takes a space before it, and after it too when it is aligned to the left; no line ends in spaces.
std::size_t table_width(const std::vector<Column>& columns, const std::vector<Line>& lines) {
  std::size_t width = 1;
  for (const Column& column : columns) width += 1 + column_width(column, lines) + (column.left_aligned ? 1 : 0);
  return columns.back().left_aligned ? width - 1 : width;
}

/// Holds the kinds of columns that are shown.
using Kinds = std::set<Importance>;

bool is_shown(const Column& column, const Kinds& kinds) {
  if (column.importance == Importance::exchange_sum && kinds.contains(Importance::exchange_phases)) return false;
  return kinds.contains(column.importance);
}

/// Returns the columns that are shown, and the names of those that would be if there were room.
Layout layout_of(const std::vector<Column>& columns, const Kinds& kinds) {
  Layout layout;
  for (const Column& column : columns)
    if (is_shown(column, kinds))
      layout.columns.push_back(column);
    else if (column.importance != Importance::exchange_sum)
      layout.left_out.push_back(column.header);
  return layout;
}

/// Columns of text of moderate width: headers are as wide as the cells or `header_width`.
void moderate(std::vector<Column>& columns, const std::vector<Line>& lines) {
  constexpr std::size_t cell_width = 32, header_width = 13;
  for (Column& column : columns) {
    if (!column.left_aligned) continue;
    for (std::string& cell : column.cells) cell = shortened(cell, cell_width);
    std::size_t widest = header_width;
    for (const Line& line : lines) widest = std::max(widest, width_of(column.cells[line.record]));
    column.header = shortened(column.header, widest);
  }
}

/// Takes as much as is needed, and as may be taken, from the widest column of text.
bool shorten_widest(std::vector<Column>& columns, const std::vector<Line>& lines, std::size_t excess) {
  const auto width = [&](const Column& column) { return column.left_aligned ? column_width(column, lines) : 0; };
  const auto widest = std::ranges::max_element(columns, {}, width);
  if (width(*widest) <= least_width) return false;
  const std::size_t wanted = std::max(least_width, width(*widest) - std::min(excess, std::size_t{2}));
  widest->header = shortened(widest->header, wanted);
  for (std::string& cell : widest->cells) cell = shortened(cell, wanted);
  return true;
}

std::string padded(const std::string& text, std::size_t width, bool left_aligned) {
  const std::string space(width - std::min(width, width_of(text)), ' ');
  return left_aligned ? ' ' + text + space + ' ' : ' ' + space + text;
}

std::string_view code_of(Emphasis emphasis) {
  return emphasis == Emphasis::best ? "\033[1m" : emphasis == Emphasis::near ? "\033[2m" : "";
}

}  // namespace

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char byte) { return !continues(byte); }));
}

std::string shortened(const std::string& text, std::size_t width) {
  const std::size_t whole = width_of(text);
  if (whole <= width) return text;
  const std::size_t kept = width - std::min<std::size_t>(width, 2), end = kept / 2;
  const std::string_view tail = std::string_view(text).substr(first(text, whole - end).size());
  return std::string(first(text, kept - end)) + ".." + std::string(tail);
}

std::string wrapped(std::string_view text, std::string_view start, std::string_view next, std::size_t width) {
  std::string lines, line(start);
  bool empty = true;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!empty && width_of(line) + 1 + width_of(word) > width) {
      lines += line + '\n';
      line = next;
      empty = true;
    }
    line += (empty ? "" : " ") + std::string(word);
    empty = false;
  }
  return lines + line + '\n';
}

Layout laid_out(std::vector<Column> columns, const std::vector<Line>& lines, std::size_t width) {
  moderate(columns, lines);
  Kinds kinds{Importance::choice};
  for (int kind = 1; kind <= static_cast<int>(Importance::remark); ++kind) {
    kinds.insert(static_cast<Importance>(kind));
    if (table_width(layout_of(columns, kinds).columns, lines) > width) kinds.erase(static_cast<Importance>(kind));
  }
  Layout layout = layout_of(columns, kinds);
  const auto excess = [&] {
    return table_width(layout.columns, lines) - std::min(width, table_width(layout.columns, lines));
  };
  while (excess() > 0 && shorten_widest(layout.columns, lines, excess())) {
  }
  // Still too wide: of the fields that make a case the last ones go, but neither the first nor the time, which is last.
  while (excess() > 0 && layout.columns.size() > 2) {
    layout.left_out.insert(layout.left_out.begin(), layout.columns.end()[-2].header);
    layout.columns.erase(layout.columns.end() - 2);
  }
  return layout;
}

std::string text_lines(const std::vector<Column>& columns, const std::vector<Line>& lines) {
  std::vector<std::size_t> widths;
  for (const Column& column : columns) widths.push_back(column_width(column, lines));
  const auto joined = [&](std::string line, auto&& text_of) {
    for (std::size_t c = 0; c < columns.size(); ++c)
      line += padded(text_of(columns[c]), widths[c], columns[c].left_aligned);
    return line.substr(0, line.find_last_not_of(' ') + 1);
  };
  std::string text = joined("#", [](const Column& column) { return column.header; }) + '\n';
  for (const Line& each : lines) {
    const std::string line = joined(" ", [&](const Column& column) { return column.cells[each.record]; });
    const std::string_view code = code_of(each.emphasis);
    text += code.empty() ? line + '\n' : std::string(code) + line + "\033[0m\n";
  }
  return text;
}

}  // namespace shardmark::results
