// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/dense/train_anew.hpp"

#include <algorithm>

namespace shardmark::workloads {

std::int64_t steps_to_train(const Job& job, std::size_t number) {
  if (!has_layers(job.options.dense.kind)) return 0;
  const bool stale =
      std::ranges::any_of(job.cases, [](const PlannedCase& each) { return each.how.async.most_stale() > 0; });
  const std::int64_t in_time = number == 0 ? RunOptions::trained_in_time : 0;
  return job.options.trained_steps.value_or(stale ? RunOptions::trained_with_stale_rows : in_time);
}

std::optional<TrainingWindow::Quality> train_anew(const Job& job, Prepared& prepared, std::size_t number,
                                                  std::int64_t steps) {
  ReadyCase& ready = prepared.ready(number);
  const StepBatches batches = prepared.new_batches();
  StepInput read;
  prepared.fill();
  TrainingWindow window;
  if (ready.pipeline) ready.pipeline->start(batches, 0, steps);
  for (std::int64_t step = 0; step < steps; ++step) {
    if (ready.pipeline) {
      ready.pipeline->step(ready.dense);
      window.add(ready.dense.loss_share(), ready.dense.logits(), ready.pipeline->input().labels);
    } else {
      const StepInput& input = batches.get(job.comm, step, read);
      ready.step(input);
      window.add(ready.dense.loss_share(), ready.dense.logits(), input.labels);
    }
  }
  if (ready.pipeline) ready.pipeline->finish();
  return window.quality(job.comm);
}

}  // namespace shardmark::workloads
