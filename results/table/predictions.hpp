// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "results/table/answer.hpp"
#include "results/table/columns.hpp"
#include "results/table/layout.hpp"

namespace shardmark::results {

/// "predicted" and "error" of the step, in percent of what was measured; without cells that say anything where no
/// record has a prediction.
std::vector<Column> prediction_columns(const Records& records);

/// "limit": the least time that the machine allows for the bytes of a step, in ms, and how much of the measured time
/// that is, in percent; as above without cells.
std::vector<Column> limit_columns(const Records& records);

/// What the predictions were worth: of one case its error; of several the mean error, the rank correlation, and the
/// regret with the case that the predictions liked best (results/prediction_quality.hpp). Of valid cases, by their time
/// per sample. Nothing where none was predicted.
std::vector<std::string> prediction_sentences(const Findings& findings);

/// The phases of one case: measured, predicted, and the least time that the machine allows for their bytes, in ms.
struct PhaseTable {
  std::string title;
  std::vector<Column> columns;
  std::vector<Line> lines;  ///< a phase each, and last the step
};

/// Of each of these cases that has predictions of its phases.
std::vector<PhaseTable> phase_tables(const Findings& findings, const Records& records);

}  // namespace shardmark::results
