// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/table/columns.hpp"

namespace shardmark::results {

/// Counts the code points of UTF-8 text: the places that it takes on a screen, but for wide and combining characters.
std::size_t width_of(std::string_view text);

/// Returns the text itself where it is at most so wide, or else its start and end with ".." between them.
std::string shortened(const std::string& text, std::size_t width);

/// Breaks words into lines of at most `width`, `start` before the first line and `next` before the others. Ends with a
/// newline.
std::string wrapped(std::string_view text, std::string_view start, std::string_view next, std::size_t width);

/// Says how a line of the table is printed on a terminal.
enum class Emphasis { none, best, near };

struct Line {
  std::size_t record;  ///< its place among the cells
  Emphasis emphasis = Emphasis::none;
};

/// A Layout is a table that fits.
struct Layout {
  std::vector<Column> columns;
  std::vector<std::string> left_out;  ///< headers of the columns that did not fit
};

/// Returns the columns of which lines are at most `width` wide: kind by kind, the most important first, those for which
/// there is room. Where not even the choices fit, their cells are shortened.
Layout laid_out(std::vector<Column> columns, const std::vector<Line>& lines, std::size_t width);

/// Prints the header with '#', and a line for each of `lines`.
std::string text_lines(const std::vector<Column>& columns, const std::vector<Line>& lines);

}  // namespace shardmark::results
