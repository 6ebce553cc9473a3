// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "workloads/measure/dense/training_window.hpp"
#include "workloads/measure/prepare.hpp"

namespace shardmark::workloads {

/// Steps that a case of the job is trained for, apart from those that are timed: the option, or where it leaves it open
/// RunOptions::trained_with_stale_rows, if rows that a model with layers sees may be stale in one of the cases. Else
/// all cases have one loss but for rounding, and the first is trained alone, for RunOptions::trained_in_time. 0: it is
/// not trained.
std::int64_t steps_to_train(const Job& job, std::size_t number);

/// Loss and AUC of the latest of `steps` steps of a case, from the first rows and weights on, each on a new batch, as
/// long as the data have one: alike for all cases of a job, but for how stale their rows are and in which order they
/// take batches. Its plan is held. Collective.
std::optional<TrainingWindow::Quality> train_anew(const Job& job, Prepared& prepared, std::size_t number,
                                                  std::int64_t steps);

}  // namespace shardmark::workloads
