// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/dense/train_anew.hpp"

#include <algorithm>

namespace shardmark {

std::int64_t steps_to_train(const Job& job) {
  if (!has_layers(job.options.dense.kind)) return 0;
  const bool stale =
      std::ranges::any_of(job.cases, [](const PlannedCase& each) { return each.how.async.most_stale() > 0; });
  return job.options.trained_steps.value_or(stale ? steps_to_compare : 0);
}

std::optional<TrainingWindow::Quality> train_anew(const Job& job, Prepared& prepared, std::size_t number,
                                                  std::int64_t steps) {
  ReadyCase& ready = prepared.ready(number);
  const std::vector<StepInput>& inputs = prepared.inputs();
  prepared.fill();
  TrainingWindow window;
  if (ready.pipeline) ready.pipeline->start(inputs, 0, steps);
  for (std::int64_t step = 0; step < steps; ++step) {
    const StepInput& own = inputs[static_cast<std::size_t>(step % std::ssize(inputs))];
    if (ready.pipeline)
      ready.pipeline->step(ready.dense);
    else
      ready.step(own);
    window.add(ready.dense.loss_share(), ready.dense.logits(),
               ready.pipeline ? ready.pipeline->input().labels : own.labels);
  }
  if (ready.pipeline) ready.pipeline->finish();
  return window.quality(job.comm);
}

}  // namespace shardmark
