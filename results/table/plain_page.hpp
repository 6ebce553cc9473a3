// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/results_table.hpp"
#include "results/table/layout.hpp"

namespace shardmark::results {

/// Holds all that is printed of a file of exchanges or of Google Benchmark, before it is laid out.
struct PlainPage {
  std::vector<std::string> where;  ///< what ran where, and what the columns mean
  std::vector<Column> columns;
  std::vector<Line> lines;
  std::string findings;  ///< lines of text; or empty
  std::string result;    ///< the last line; empty where there is none
};

/// Returns nothing for a file of cases.
std::optional<PlainPage> plain_page_of(const Report& report);

std::string plain_text(const PlainPage& page, const TableOptions& options);
std::string plain_markdown(const PlainPage& page);

}  // namespace shardmark::results
