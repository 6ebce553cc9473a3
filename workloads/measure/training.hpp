// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "workloads/checkpoint/checkpoints.hpp"
#include "workloads/measure/dense/training_window.hpp"
#include "workloads/measure/prepare.hpp"

namespace shardmark::workloads {

/// Returns the number of steps that a case of the job is trained for, apart from those that are timed: the option, or
/// where it leaves it open RunOptions::trained_with_stale_rows, if rows that a model with layers sees may be stale in
/// one of the cases. Else all cases have one loss but for rounding, and the first is trained alone, for
/// RunOptions::trained_in_time. 0: it is not trained.
std::int64_t steps_to_train(const Job& job, std::size_t number);

/// Says how a case was trained.
struct Training {
  std::int64_t steps = 0;                          ///< from the first weights on, those before a checkpoint included
  std::optional<TrainingWindow::Quality> quality;  ///< of a model with layers
  CheckpointCosts saved, restored;
};

/// Trains a case for `steps` steps, from the first rows and weights on, or from options.restore, each on a new batch,
/// as long as the data have one: alike for all cases of a job, but for how stale their rows are and in which order they
/// take batches. Saves as options.save says; batches that are prepared before their steps are waited for there, so that
/// a run that is restored prepares the same ones. Where something is saved, ends early, with a checkpoint, once
/// interrupted() says so. The tables of its plan are held. Throws InputError as Checkpoints do. Collective.
Training train_anew(const Job& job, Prepared& prepared, std::size_t number, std::int64_t steps, const Status& status,
                    const std::function<bool()>& interrupted);

}  // namespace shardmark::workloads
