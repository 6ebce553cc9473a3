// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "comm/agree.hpp"

namespace shardmark::workloads {

std::int64_t steps_to_train(const Job& job, std::size_t number) {
  if (!job.options.trains()) return 0;
  const bool stale =
      std::ranges::any_of(job.cases, [](const PlannedCase& each) { return each.config.async.most_stale() > 0; });
  const auto math_of = [](const PlannedCase& each) { return each.config.dense_math; };
  const auto first = std::ranges::find(job.cases, math_of(job.cases[number]), math_of) - job.cases.begin();
  const std::int64_t in_time = std::cmp_equal(number, first) ? RunOptions::trained_in_time : 0;
  return job.options.trained_steps.value_or(stale ? RunOptions::trained_with_stale_rows : in_time);
}

Training train_anew(const Job& job, Prepared& prepared, std::size_t number, std::int64_t steps, const Status& status,
                    const std::function<bool()>& interrupted) {
  const PlannedTables& planned = job.planned(number);
  const RunOptions& options = planned.options;
  ReadyCase& ready = prepared.ready(number);
  const StepBatches batches = prepared.new_batches();
  StepInput read;
  prepared.fill();
  TrainingWindow window;
  HostElements<float> labels;
  Checkpoints checkpoints(job.comm, options, planned.plan, status);
  std::int64_t step = options.restore.empty() ? 0 : checkpoints.restore(prepared.tables(), ready.dense);
  comm::agree(job.comm, [&] {
    if (step >= steps)
      throw InputError(
          fmt::format("--restore {}: {} steps have been taken there, and --train {} asks for no more; use "
                      "a larger number",
                      options.restore, step, steps));
  });
  const auto add = [&](const StepInput& input) {
    checkpoints.took(input);
    window.add(ready.dense.loss_share(), ready.dense.logits(), labels.read(input.labels));
  };
  const bool saves = !options.save.empty();
  for (bool stopped = false; step < steps && !stopped;) {
    const std::int64_t every = options.save_every;
    const std::int64_t end = saves && every > 0 ? std::min(steps, (step / every + 1) * every) : steps;
    if (ready.pipeline) {
      ready.pipeline->start(batches, step, end - step);
      for (; step < end; ++step) {
        ready.pipeline->step(ready.dense);
        add(ready.pipeline->input());
      }
      ready.pipeline->finish();
      stopped = saves && interrupted();
    } else {
      while (step < end && !stopped) {
        const StepInput& input = batches.get(job.comm, step++, read);
        ready.step(input);
        add(input);
        stopped = saves && interrupted();
      }
    }
    if (saves) checkpoints.save(prepared.tables(), ready.dense);
  }
  checkpoints.finish();
  Training training{.steps = step, .quality = {}, .saved = checkpoints.saved(), .restored = checkpoints.restored()};
  if (has_layers(options.dense.kind)) training.quality = window.quality(job.comm);
  return training;
}

}  // namespace shardmark::workloads
