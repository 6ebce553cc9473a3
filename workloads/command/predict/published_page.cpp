// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/predict/published_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "comm/placement/cost/machine_file.hpp"
#include "reference/error.hpp"

namespace shardmark {
namespace {

double dense_seconds(const PredictedPlan& plan) {
  return plan.step.phases[static_cast<std::size_t>(StepPhase::dense)].seconds;
}

PredictedPlan predict(PredictedCases& cases, const PublishedStep& step) {
  cases.machine = named_machine(step.machine);
  cases.plans = {step.plan};
  cases.ranks = {step.ranks};
  return predict_plans(cases).front();
}

std::string line(const PublishedStep& step, const PredictedPlan& plan, std::size_t width) {
  const double ms = 1e3 * plan.step.seconds, dense = 1e3 * dense_seconds(plan);
  return fmt::format("{:<12} {:>5} {:<{}} {:>12.5g} {:>12.4g} {:>+8.1f} {:>13.4g} {:>9.4g} {:>9.0f}\n", step.machine,
                     step.ranks, step.plan, width, step.ms, ms, 100.0 * (ms / step.ms - 1.0), ms - dense, dense,
                     100.0 * (1.0 - dense / ms));
}

}  // namespace

std::string published_text(PredictedCases cases) {
  const Workload& workload = cases.options.workload;
  const auto steps = workload.published_steps;
  if (steps.empty()) throw InputError(workload.name + ": nothing was published of it that we know");
  cases.dense = true;
  std::size_t width = 4;
  for (const PublishedStep& step : steps) width = std::max(width, step.plan.size());
  std::string text = fmt::format(
      "# {}, batch {}: published, and predicted from described machines, fitted to none of this\n"
      "{:<12} {:>5} {:<{}} {:>12} {:>12} {:>8} {:>13} {:>9} {:>9}\n",
      workload.name, workload.global_batch, "machine", "ranks", "plan", width, "published ms", "predicted ms",
      "error %", "embeddings ms", "dense ms", "share %");
  double error = 0.0;
  std::vector<double> predicted;
  for (const PublishedStep& step : steps) {
    const PredictedPlan plan = predict(cases, step);
    text += line(step, plan, width);
    predicted.push_back(1e3 * plan.step.seconds);
    error += std::abs(predicted.back() / step.ms - 1.0) / static_cast<double>(steps.size());
  }
  text += fmt::format("# mean absolute error {:.1f} %\n", 100.0 * error);
  if (const auto ratio = published_ratio(steps)) {
    const auto of = [&](const std::string& plan) {
      return predicted[std::ranges::find(steps, plan, &PublishedStep::plan) - steps.begin()];
    };
    const double ours = of(ratio->slow) / of(ratio->fast);
    text += fmt::format("# {} / {}: published {:.3f}, predicted {:.3f}, {:+.1f} %\n", ratio->slow, ratio->fast,
                        ratio->ratio, ours, 100.0 * (ours / ratio->ratio - 1.0));
  }
  return text + fmt::format("# {}\n", steps.front().source);
}

}  // namespace shardmark
