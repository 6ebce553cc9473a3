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
  std::vector<std::string> tts;        ///< what tensor trains came to (tensor_trains.hpp)
  std::string published;               ///< the ratio beside a published one; empty when there is none
  std::string disturbance;             ///< what took the processors meanwhile (results/disturbance.hpp); or empty
  std::vector<std::string> sentences;  ///< the answer; empty when there is no case
  std::string merit, verdict;          ///< the two last lines
};

Page page_of(const Report& report, bool all);

/// Returns what the columns mean, "ms: ...; MB: ...".
std::string legend(const Page& page, const std::vector<Column>& columns);

}  // namespace shardmark::results
