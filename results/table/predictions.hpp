// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/prediction_quality.hpp"
#include "results/table/answer.hpp"
#include "results/table/columns.hpp"
#include "results/table/layout.hpp"

namespace shardmark::results {

/// Returns the predicted and the measured ms of a sample of the case; nothing where it was not predicted.
std::optional<PredictedTime> predicted_time(const CaseRecord& record);

/// Returns the columns "predicted" (ms of the step) and "error" (percent of what was measured); all cells are "-" where
/// no record has a prediction.
std::vector<Column> prediction_columns(const Records& records);

/// Returns the columns "% limit", how much of the measured time the machine needs at least for the bytes of a step, and
/// "limit", that least time in ms; all cells are "-" where no record has a limit.
std::vector<Column> limit_columns(const Records& records);

/// Returns sentences on how good the predictions were: for one case its error; for several the mean error, the rank
/// correlation, and the regret with the case that the predictions liked best (results/prediction_quality.hpp). They are
/// about valid cases, by their time per sample. There are none where nothing was predicted.
std::vector<std::string> prediction_sentences(const Findings& findings);

/// Holds the phases of one case: measured, predicted, and the least time that the machine allows for their bytes, in
/// ms.
struct PhaseTable {
  std::string title;
  std::vector<Column> columns;
  std::vector<Line> lines;  ///< a phase each, and last the step
};

/// Returns the table of each of these cases that has predictions of its phases.
std::vector<PhaseTable> phase_tables(const Findings& findings, const Records& records);

}  // namespace shardmark::results
