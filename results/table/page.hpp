// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "results/results_table.hpp"
#include "results/table/columns.hpp"
#include "results/table/layout.hpp"
#include "results/table/predictions.hpp"

namespace shardmark::results {

/// Holds all that is printed about one report, before it is laid out as text or Markdown.
struct Page {
  std::vector<std::string> where;      ///< what ran where, and whether it ended
  Sheet sheet;                         ///< empty when there is no case
  std::vector<Line> lines;             ///< the cases that are shown
  std::string steps;                   ///< how many were timed for each case, "40" or "6 to 120"
  std::string cases;                   ///< how many of which these are; empty when they are all
  std::vector<std::string> remarks;    ///< what the reader must know of the figures
  std::vector<PhaseTable> phases;      ///< of the best case, or of all that are shown, where they were predicted
  std::vector<std::string> pipelines;  ///< what prefetching steps gained (pipelines.hpp)
  std::vector<std::string> qualities;  ///< and what it cost in loss and AUC (convergence.hpp)
  std::vector<std::string> tts;        ///< what tensor trains came to (tensor_trains.hpp), and dynamic tables
  std::string published;               ///< the ratio beside a published one; empty when there is none
  std::string disturbance;             ///< what took the processors meanwhile (results/disturbance.hpp); or empty
  std::vector<std::string> sentences;  ///< the answer; empty when there is no case
  std::string merit, verdict;          ///< the two last lines
};

Page page_of(const Report& report, bool all);

/// Returns what ran where, as the environment of a file says: the program and its build first, then the command, then
/// the machine.
std::vector<std::string> where_lines(const nlohmann::ordered_json& environment);

/// Returns "criteo-kaggle on AMD EPYC, 2026-11-26, commit 9342631036de": what was measured where, when and by which
/// program, of a report with a case.
std::string build_text(const Report& report);

/// Returns a table of GitHub's kind; the best case is bold.
std::string markdown_table(const std::vector<Column>& columns, const std::vector<Line>& lines);

/// Returns what the columns mean, "ms: ...; MB: ...".
std::string legend(const Page& page, const std::vector<Column>& columns);

}  // namespace shardmark::results
