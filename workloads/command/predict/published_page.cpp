// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/predict/published_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "comm/placement/cost/machine_file.hpp"
#include "reference/error.hpp"

namespace shardmark::workloads {
namespace {

/// What their run took in a step, if the prediction is right.
struct RunTime {
  double embeddings = 0.0, dense = 0.0;

  double ms() const { return 1e3 * (embeddings + dense); }
};

/// Without the exchange of ids that were at their owners, and with forward passes for what was evaluated meanwhile: a
/// third of the flops of the dense half, and no gradients.
RunTime run_time(const PublishedStep& step, const placement::StepPrediction& predicted) {
  const auto phase = [&](placement::StepPhase which) { return predicted.phases[static_cast<std::size_t>(which)]; };
  const double ids = step.ids_at_owners ? phase(placement::StepPhase::input_dist).seconds : 0.0;
  const placement::PhasePrediction dense = phase(placement::StepPhase::dense);
  const double forward = phase(placement::StepPhase::input_dist).seconds - ids +
                         phase(placement::StepPhase::lookup).seconds + phase(placement::StepPhase::output_dist).seconds;
  return {.embeddings = predicted.seconds - dense.seconds - ids + step.evaluations * forward,
          .dense = dense.seconds + step.evaluations * (dense.seconds - dense.exchange) / 3};
}

RunTime predict(PredictedCases& cases, const PublishedStep& step) {
  cases.machine = placement::named_machine(step.machine);
  cases.plans = {step.plan};
  cases.ranks = {step.ranks};
  const PredictedPlan plan = predict_plans(cases).front();
  if (!plan.predicted()) throw InputError(plan.problem);
  return run_time(step, plan.step);
}

/// Columns as wide as their widest texts.
struct Widths {
  explicit Widths(std::span<const PublishedStep> steps) {
    for (const PublishedStep& step : steps) {
      machine = std::max(machine, step.machine.size());
      plan = std::max(plan, step.plan.size());
    }
  }

  std::size_t machine = 7, plan = 4;
};

double error_of(const PublishedStep& step, const RunTime& run) { return run.ms() / step.ms - 1.0; }

std::string line(const PublishedStep& step, const RunTime& run, const Widths& widths) {
  return fmt::format("{:<{}} {:>5} {:<{}} {:>12.5g} {:>12.4g} {:>+8.1f} {:>13.4g} {:>9.4g} {:>9.0f} {:>8}\n",
                     step.machine, widths.machine, step.ranks, step.plan, widths.plan, step.ms, run.ms(),
                     100.0 * error_of(step, run), 1e3 * run.embeddings, 1e3 * run.dense,
                     1e5 * run.embeddings / run.ms(), step.used ? "no" : "yes");
}

/// The mean over the steps that chose no constant.
std::string mean_error(std::span<const PublishedStep> steps, std::span<const RunTime> runs) {
  double sum = 0.0;
  int held_out = 0;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    if (steps[s].used) continue;
    sum += std::abs(error_of(steps[s], runs[s]));
    ++held_out;
  }
  return held_out > 0 ? fmt::format("# mean absolute error of the hold-out {:.1f} %\n", 100.0 * sum / held_out) : "";
}

}  // namespace

std::string published_text(PredictedCases cases) {
  const Workload& workload = cases.options.workload;
  const auto steps = workload.published_steps;
  if (steps.empty()) throw InputError(workload.name + ": nothing was published of it that we know");
  cases.dense = true;
  const Widths widths(steps);
  std::string text = fmt::format(
      "# {}, batch {}: published, and predicted from described machines; a hold-out but for steps that chose a "
      "constant\n"
      "{:<{}} {:>5} {:<{}} {:>12} {:>12} {:>8} {:>13} {:>9} {:>9} {:>8}\n",
      workload.name, workload.global_batch, "machine", widths.machine, "ranks", "plan", widths.plan, "published ms",
      "predicted ms", "error %", "embeddings ms", "dense ms", "share %", "held out");
  std::vector<RunTime> runs;
  for (const PublishedStep& step : steps) {
    runs.push_back(predict(cases, step));
    text += line(step, runs.back(), widths);
  }
  text += mean_error(steps, runs);
  if (const auto ratio = published_ratio(steps)) {
    const auto of = [&](const std::string& plan) {
      return runs[std::ranges::find(steps, plan, &PublishedStep::plan) - steps.begin()].ms();
    };
    const double ours = of(ratio->slow) / of(ratio->fast);
    text += fmt::format("# {} / {}: published {:.3f}, predicted {:.3f}, {:+.1f} %\n", ratio->slow, ratio->fast,
                        ratio->ratio, ours, 100.0 * (ours / ratio->ratio - 1.0));
  }
  return text + fmt::format("# {}\n", steps.front().source);
}

}  // namespace shardmark::workloads
