// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/predict/published_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "comm/placement/cost/machine_file.hpp"
#include "reference/error.hpp"
#include "results/prediction_quality.hpp"
#include "results/table/layout.hpp"
#include "workloads/cases/published_file.hpp"

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
  const auto phase = [&](Phase which) { return predicted.phases[index_of(which)]; };
  const double ids = step.ids_at_owners ? phase(Phase::input_dist).seconds : 0.0;
  const placement::PhasePrediction dense = phase(Phase::dense);
  const double forward =
      phase(Phase::input_dist).seconds - ids + phase(Phase::lookup).seconds + phase(Phase::output_dist).seconds;
  return {.embeddings = predicted.seconds - dense.seconds - ids + step.evaluations * forward,
          .dense = dense.seconds + step.evaluations * (dense.seconds - dense.exchange) / 3};
}

/// Returns the case of the step on its ranks and machine; `given` replaces the options that it ran with, which replace
/// those of the machine's software.
PredictedCases cases_of_step(const Workload& workload, const PublishedStep& step, std::span<const GivenOption> given,
                             const placement::MachineModel& machine) {
  RunOptions options;
  options.workload = workload;
  if (workload.dense) options.dense.kind = workload.dense->kind;
  std::vector<GivenOption> all = options_of(machine.software);
  for (const std::string& text : step.settings) all.push_back(given_setting(text));
  all.insert(all.end(), given.begin(), given.end());
  PredictedCases cases = cases_with(std::move(options), all);
  cases.plans = {step.plan};
  cases.ranks = {step.ranks};
  cases.machine = machine;
  return cases;
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

std::string published_text(const Workload& workload, std::span<const GivenOption> given,
                           std::span<const std::string> without) {
  const auto& steps = workload.published_steps;
  if (steps.empty()) throw InputError(workload.name + ": nothing was published of it that we know");
  const Widths widths(steps);
  std::string text = fmt::format(
      "# {}, batch {}: published, and predicted from described machines; a hold-out but for steps that chose a "
      "constant\n"
      "{:<{}} {:>5} {:<{}} {:>12} {:>12} {:>8} {:>13} {:>9} {:>9} {:>8}\n",
      workload.name, workload.global_batch, "machine", widths.machine, "ranks", "plan", widths.plan, "published ms",
      "predicted ms", "error %", "embeddings ms", "dense ms", "share %", "held out");
  std::vector<RunTime> runs;
  for (const PublishedStep& step : steps) {
    const PredictedCases cases =
        cases_of_step(workload, step, given, without_all(placement::named_machine(step.machine), without));
    runs.push_back(run_time(step, predict_plans(cases).front().step));
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

namespace {

/// Is a step of a file, and what is predicted for it: nothing where no machine is described.
struct PublishedPrediction {
  const PublishedCase* step = nullptr;
  std::optional<results::PredictedTime> time = {};  ///< ms
  bool fits = true;

  bool counts() const { return time && !step->step.used; }
};

/// Calls part(), whose InputError then names the file, the step and the key.
template <class Part>
auto of_key(const std::string& file, std::size_t step, const char* key, Part&& part) {
  try {
    return part();
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: steps[{}]: \"{}\": {}", file, step, key, error.what()));
  }
}

PublishedPrediction predicted_of(const std::string& file, std::size_t number, const PublishedCase& one,
                                 std::span<const GivenOption> given, std::span<const std::string> without) {
  const PublishedStep& step = one.step;
  if (step.machine.empty()) return {&one};
  Workload workload = of_key(file, number, "workload", [&] { return load_workload(one.workload); });
  workload.global_batch = one.global_batch.value_or(workload.global_batch);
  const auto machine = of_key(file, number, "machine", [&] { return placement::named_machine(step.machine); });
  const auto judged = without_all(machine, without);
  PredictedCases cases = of_key(file, number, "set", [&] { return cases_of_step(workload, step, given, judged); });
  if (one.nodes) cases.machine.ranks_per_node = step.ranks / *one.nodes;
  const PredictedPlan plan = of_key(file, number, "plan", [&] { return predict_plans(cases).front(); });
  return {&one, results::PredictedTime{run_time(step, plan.step).ms(), step.ms}, plan.missing <= 0.0};
}

std::string in_percent(double share) { return fmt::format("{:.1f}", 100.0 * share); }

std::string steps_table(std::span<const PublishedPrediction> predictions) {
  std::vector<results::Column> columns{{.header = "workload", .left_aligned = true},
                                       {.header = "group", .left_aligned = true},
                                       {.header = "ranks"},
                                       {.header = "nodes"},
                                       {.header = "batch"},
                                       {.header = "plan", .left_aligned = true},
                                       {.header = "published ms"},
                                       {.header = "predicted ms"},
                                       {.header = "error %"},
                                       {.header = "software", .left_aligned = true}};
  constexpr std::size_t widest = 26;
  std::vector<results::Line> lines;
  for (const PublishedPrediction& each : predictions) {
    const PublishedCase& one = *each.step;
    const auto maybe = [](const auto& value) { return value ? fmt::format("{}", *value) : std::string("-"); };
    const std::vector<std::string> cells{results::shortened(one.workload, widest),
                                         results::shortened(one.group, widest),
                                         fmt::format("{}", one.step.ranks),
                                         maybe(one.nodes),
                                         maybe(one.global_batch),
                                         results::shortened(one.step.plan, widest),
                                         results::figure(one.step.ms),
                                         each.time ? results::figure(each.time->predicted) : "no machine",
                                         each.time ? fmt::format("{:+.1f}{}", 100.0 * each.time->error(),
                                                                 one.step.used ? " chosen"
                                                                 : each.fits   ? ""
                                                                               : " (does not fit)")
                                                   : "-",
                                         results::shortened(one.software, widest)};
    lines.push_back({lines.size()});
    for (std::size_t c = 0; c < columns.size(); ++c) columns[c].cells.push_back(results::plain(cells[c]));
  }
  return results::text_lines(columns, lines);
}

/// Adds a line of how far the predictions that count are off.
void add_quality(const std::string& name, std::span<const PublishedPrediction> predictions,
                 std::vector<results::Column>& columns) {
  std::vector<results::PredictedTime> times;
  std::size_t pairs = 0, right = 0;
  for (const PublishedPrediction& each : predictions) {
    if (!each.counts()) continue;
    times.push_back(*each.time);
    for (const PublishedPrediction& other : predictions) {
      if (&other == &each) break;
      if (!other.counts() || !each.step->differs_in_ranks_alone(*other.step)) continue;
      ++pairs;
      right += results::same_order(*each.time, *other.time) ? 1 : 0;
    }
  }
  std::vector<std::string> cells{name, fmt::format("{}", predictions.size()), fmt::format("{}", times.size())};
  if (times.empty()) {
    cells.resize(columns.size(), "-");
  } else {
    const results::PredictionQuality quality = results::prediction_quality(times);
    cells.push_back(in_percent(quality.mean_error));
    cells.push_back(quality.rank_correlation ? fmt::format("{:.2f}", *quality.rank_correlation) : "-");
    cells.push_back(in_percent(results::share_within(times, results::usual_claim)));
    cells.push_back(pairs > 0 ? fmt::format("{} of {}", right, pairs) : "-");
  }
  for (std::size_t c = 0; c < columns.size(); ++c) columns[c].cells.push_back(results::plain(cells[c]));
}

std::string quality_table(std::span<const PublishedPrediction> predictions) {
  std::vector<results::Column> columns{{.header = "group", .left_aligned = true},
                                       {.header = "steps"},
                                       {.header = "counted"},
                                       {.header = "MAPE %"},
                                       {.header = "Spearman"},
                                       {.header = fmt::format("% within {:.0f} %", 100.0 * results::usual_claim)},
                                       {.header = "signs right"}};
  std::vector<std::string> groups;
  for (const PublishedPrediction& each : predictions)
    if (std::ranges::find(groups, each.step->group) == groups.end()) groups.push_back(each.step->group);
  for (const std::string& group : groups) {
    std::vector<PublishedPrediction> of_group;
    std::ranges::copy_if(predictions, std::back_inserter(of_group),
                         [&](const PublishedPrediction& each) { return each.step->group == group; });
    if (groups.size() > 1) add_quality(group.empty() ? "-" : group, of_group, columns);
  }
  add_quality("all", predictions, columns);
  std::vector<results::Line> lines;
  while (lines.size() < columns.front().cells.size()) lines.push_back({lines.size()});
  return results::text_lines(columns, lines);
}

}  // namespace

std::string published_file_text(const std::string& name_or_file, std::span<const GivenOption> given,
                                std::span<const std::string> without) {
  const PublishedFile file = load_published(name_or_file);
  std::vector<PublishedPrediction> predictions;
  for (std::size_t s = 0; s < file.steps.size(); ++s)
    predictions.push_back(predicted_of(name_or_file, s, file.steps[s], given, without));
  const auto line = [](const std::string& text) {
    return text.empty() ? "" : fmt::format("# {}\n", results::plain(text));
  };
  return line(fmt::format("{}: {}", name_or_file, file.title)) + line(file.notice) + steps_table(predictions) +
         quality_table(predictions) +
         "# counted: steps that have a machine and chose none of its constants; signs: of pairs that differ in ranks "
         "alone\n";
}

}  // namespace shardmark::workloads
