// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/predict/predict_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "results/table/layout.hpp"
#include "results/usual_error.hpp"
#include "workloads/cases/workload_summary.hpp"

namespace shardmark::workloads {
namespace {

using Json = nlohmann::ordered_json;

double most_sent(const PredictedPlan& plan) { return plan.step.sent.empty() ? 0.0 : std::ranges::max(plan.step.sent); }

/// In samples per second, over the same plan on the fewest ranks that have it.
double speedup(const PredictedPlan& of, std::span<const PredictedPlan> predicted) {
  const auto first = std::ranges::find_if(predicted, [&](const PredictedPlan& plan) {
    return plan.plan == of.plan && plan.scaling == of.scaling && plan.predicted();
  });
  return of.samples_per_second() / first->samples_per_second();
}

std::string_view scaling_name(Scaling scaling) { return scaling == Scaling::weak ? "weak" : "strong"; }

/// What stays the same, where there are several numbers of ranks.
std::string scaling_text(const PredictedCases& cases, Scaling scaling) {
  if (cases.ranks.size() == 1) return "";
  const std::int64_t batch = cases.batch(scaling, cases.ranks.front());
  if (scaling == Scaling::strong) return fmt::format("# strong scaling: {} samples a step on any ranks\n", batch);
  return fmt::format("# weak scaling: {:.6g} samples a rank\n", static_cast<double>(batch) / cases.ranks.front());
}

std::string fits(const PredictedPlan& plan, const placement::MachineModel& machine) {
  if (machine.memory_per_rank <= 0.0) return "unknown";
  return plan.missing > 0.0 ? fmt::format("no, +{:.3g}", plan.missing / 1e9) : "yes";
}

std::string heading(const PredictedCases& cases) {
  const Workload& workload = cases.options.workload;
  const DenseKind dense = cases.options.dense.kind;
  Workload first = workload;
  share_batch(first, cases.ranks.front());
  return fmt::format(
      "# predicted, not measured: {}{}, {}, on machine {} ({})\n"
      "# {}\n"
      "# ms of a step{}; speedup in samples/s over the plan's fewest ranks; MB that the busiest rank sends; GB of the "
      "fullest rank{}\n",
      workload.name, workload.scale > 1 ? fmt::format(" at 1/{}", workload.scale) : "", cases.config.name(),
      cases.machine.name, cases.machine.source, summary_of(first),
      has_layers(dense) ? fmt::format(" and of dense model {}", name_of(dense)) : " without a dense model",
      cases.machine.memory_per_rank > 0.0 ? fmt::format(", of {:.4g}", cases.machine.memory_per_rank / 1e9) : "");
}

std::string notes(const PredictedPlan& plan) {
  if (plan.of_ranks) return fmt::format("# {} ranks are left out: {}\n", plan.ranks, plan.problem);
  if (!plan.predicted()) return fmt::format("# {} on {} ranks: {}\n", plan.plan, plan.ranks, plan.problem);
  std::string text;
  if (plan.missing > 0.0)
    text += fmt::format("# {} on {} ranks does not fit: rank {} lacks {:.3g} GB; {}\n", plan.plan, plan.ranks,
                        plan.fullest_rank, plan.missing / 1e9, plan.relief);
  if (plan.idle_ranks > 0)
    text += fmt::format("# {} on {} ranks: {} rank{} hold{} nothing\n", plan.plan, plan.ranks, plan.idle_ranks,
                        plan.idle_ranks == 1 ? "" : "s", plan.idle_ranks == 1 ? "s" : "");
  return text;
}

/// The speedup, logarithmically: a full bar has that of the ranks.
std::string bar(double speedup, double ranks) {
  constexpr double length = 40.0;
  const double share = ranks > 1.0 ? std::log(std::max(speedup, 1.0)) / std::log(ranks) : 1.0;
  const auto full = static_cast<std::size_t>(std::lround(length * std::clamp(share, 0.0, 1.0)));
  return std::string(full, '#') + std::string(static_cast<std::size_t>(length) - full, '.');
}

std::vector<const PredictedPlan*> of_plan(const std::string& plan, Scaling scaling,
                                          std::span<const PredictedPlan> predicted) {
  std::vector<const PredictedPlan*> result;
  for (const PredictedPlan& each : predicted)
    if (each.plan == plan && each.scaling == scaling && each.predicted()) result.push_back(&each);
  return result;
}

/// "NAME: lookup, all ranks up to 8 ranks; from 64 on output_dist, exchange between nodes".
std::string where_it_moves(const std::vector<const PredictedPlan*>& plans) {
  std::string text = fmt::format("BOTTLENECK of {}: {}", plans.front()->plan, plans.front()->bound.text());
  for (std::size_t i = 1; i < plans.size(); ++i)
    if (plans[i]->bound.phase != plans[i - 1]->bound.phase ||
        plans[i]->bound.by.starts_with("exchange") != plans[i - 1]->bound.by.starts_with("exchange"))
      text += fmt::format("; from {} ranks on {}", plans[i]->ranks, plans[i]->bound.text());
  return text + "\n";
}

/// The table of one scaling, and below it how each plan scales and where its bottleneck moves; adds what there is to
/// say of single plans and ranks to `remarks`, once.
std::string scaling_page(const PredictedCases& cases, Scaling scaling, std::span<const PredictedPlan> predicted,
                         std::string& remarks) {
  std::size_t width = 4;
  for (const PredictedPlan& plan : predicted) width = std::max(width, plan.plan.size());
  std::string text =
      scaling_text(cases, scaling) + fmt::format("{:>6} {:<{}} {:>9} {:>9} {:>11} {:>8} {:>9} {:>8} {:<10} {}\n",
                                                 "ranks", "plan", width, "batch", "step ms", "samples/s", "speedup",
                                                 "MB sent", "GB", "fits", "longest phase, bound by");
  std::string curves, moves;
  for (const PredictedPlan& plan : predicted) {
    if (plan.scaling != scaling) continue;
    if (const std::string note = notes(plan); remarks.find(note) == remarks.npos) remarks += note;
    if (!plan.predicted()) continue;
    text += fmt::format("{:>6} {:<{}} {:>9} {:>9.4g} {:>11.4g} {:>8.3g} {:>9.4g} {:>8.3g} {:<10} {}\n", plan.ranks,
                        plan.plan, width, plan.batch, 1e3 * plan.step.seconds, plan.samples_per_second(),
                        speedup(plan, predicted), most_sent(plan) / 1e6, plan.memory / 1e9, fits(plan, cases.machine),
                        plan.bound.text());
  }
  if (cases.ranks.size() == 1) return text;
  for (const std::string& name : cases.plans) {
    const auto plans = of_plan(name, scaling, predicted);
    if (plans.empty()) continue;
    for (const PredictedPlan* plan : plans) {
      const double faster = speedup(*plan, predicted), more = static_cast<double>(plan->ranks) / plans.front()->ranks;
      curves +=
          fmt::format("{:>6} {:<{}} {} {:.3g} of {:.3g}\n", plan->ranks, name, width, bar(faster, more), faster, more);
    }
    moves += where_it_moves(plans);
  }
  return text + "# speedup of that of the ranks, logarithmic\n" + curves + moves;
}

/// The fastest plan that fits on the most ranks; null where none does.
const PredictedPlan* best(Scaling scaling, std::span<const PredictedPlan> predicted) {
  const PredictedPlan* found = nullptr;
  for (const PredictedPlan& plan : predicted) {
    if (plan.scaling != scaling || !plan.predicted() || plan.missing > 0.0) continue;
    if (found == nullptr || plan.ranks > found->ranks ||
        (plan.ranks == found->ranks && plan.step.seconds < found->step.seconds))
      found = &plan;
  }
  return found;
}

/// Returns in words where to go from here: per scaling the fastest plan on most ranks, and how far predictions are
/// usually off.
std::string answer(const PredictedCases& cases, std::span<const PredictedPlan> predicted) {
  std::vector<std::string> sentences;
  bool between_hosts = false;
  for (const Scaling scaling : cases.scalings) {
    const PredictedPlan* plan = best(scaling, predicted);
    if (plan == nullptr) {
      sentences.push_back("No plan fits into the memory; use more ranks, another plan, or --scale.");
      break;
    }
    between_hosts = between_hosts || plan->nodes > 1;
    std::string text =
        fmt::format("{}n {} rank{} the fastest plan{} is {}: {:.4g} ms a step of {} samples, {:.4g} samples/s",
                    cases.scalings.size() > 1 ? fmt::format("With {} scaling, o", scaling_name(scaling)) : "O",
                    plan->ranks, plan->ranks == 1 ? "" : "s", cases.machine.memory_per_rank > 0.0 ? " that fits" : "",
                    plan->plan, 1e3 * plan->step.seconds, plan->batch, plan->samples_per_second());
    const PredictedPlan& first = *of_plan(plan->plan, scaling, predicted).front();
    if (first.ranks < plan->ranks) {
      const double faster = speedup(*plan, predicted), more = static_cast<double>(plan->ranks) / first.ranks;
      text += fmt::format(", {:.3g} times those of {} rank{} ({:.0f} % of {:.3g})", faster, first.ranks,
                          first.ranks == 1 ? "" : "s", 100.0 * faster / more, more);
    }
    text += fmt::format("; its longest phase is {}.", plan->bound.text());
    if (cases.machine.memory_per_rank > 0.0)
      text += fmt::format(" Its fullest rank takes {:.3g} of {:.4g} GB.", plan->memory / 1e9,
                          cases.machine.memory_per_rank / 1e9);
    sentences.push_back(std::move(text));
  }
  const auto kind = !cases.machine.measured ? cases.machine.software.name.empty() ? results::MachineKind::described
                                                                                  : results::MachineKind::of_parts
                    : between_hosts         ? results::MachineKind::calibrated_between_hosts
                                            : results::MachineKind::calibrated_one_node;
  sentences.push_back(results::usual_error(kind));
  std::string text;
  for (const std::string& sentence : sentences)
    text += results::wrapped(sentence, text.empty() ? "ANSWER: " : "  ", "    ", 120);
  return text;
}

/// Returns "update.line 61 %, update.step 12 %": the terms of a phase that take most, with their shares of it.
std::string largest_terms(const placement::StepPrediction& step, Phase phase) {
  constexpr std::size_t shown = 3;
  constexpr double least = 0.05;
  std::vector<std::pair<double, std::string_view>> found;
  double all = 0.0;
  for (std::size_t t = 0; t < placement::terms.size(); ++t) {
    if (placement::terms[t].phase != phase) continue;
    all += step.terms[t];
    found.emplace_back(step.terms[t], placement::terms[t].name);
  }
  std::ranges::sort(found, std::greater{});
  std::string text;
  for (std::size_t t = 0; t < std::min(shown, found.size()) && found[t].first > least * all; ++t)
    text += fmt::format("{}{} {:.0f} %", t == 0 ? "" : ", ", found[t].second, 100.0 * found[t].first / all);
  return text;
}

Json path_json(const placement::StepPath& path) {
  Json parts = Json::array();
  for (std::size_t p = 0; p < path.count; ++p) {
    const placement::StepPart& part = path.parts[p];
    parts.push_back({{"part", part.name},
                     {"phase", name_of(part.phase)},
                     {"resource", placement::step_resources[index_of(part.resource)].name},
                     {"begin_ms", 1e3 * part.begin},
                     {"ms", 1e3 * part.seconds},
                     {"held_back_ms", 1e3 * part.held_back},
                     {"critical", part.critical}});
  }
  return parts;
}

}  // namespace

std::string explanation(std::span<const PredictedPlan> predicted) {
  std::string text;
  for (const PredictedPlan& plan : predicted) {
    if (!plan.predicted()) continue;
    const placement::StepPath& path = plan.step.path;
    text += fmt::format(
        "# {} on {} ranks, {:.4g} ms: * are on the critical path\n"
        "    begin ms       ms share %  {:<27} {:<11} {:<14} terms\n",
        plan.plan, plan.ranks, 1e3 * path.seconds, "part", "phase", "on");
    for (std::size_t p = 0; p < path.count; ++p) {
      const placement::StepPart& part = path.parts[p];
      if (part.seconds <= 0.0) continue;
      const bool computes = part.resource == placement::Resource::compute;
      std::string line =
          fmt::format("  {} {:>8.4g} {:>8.4g} {:>7.1f}  {:<27} {:<11} {:<14} {}", part.critical ? '*' : ' ',
                      1e3 * part.begin, 1e3 * part.seconds, 100.0 * part.seconds / path.seconds, part.name,
                      name_of(part.phase), placement::step_resources[index_of(part.resource)].name,
                      computes ? largest_terms(plan.step, part.phase)
                      : part.held_back > 0.0
                          ? fmt::format("{:.0f} % is the limit of the links", 100.0 * part.held_back / part.seconds)
                          : "");
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
  }
  return text;
}

Json phases_json(const placement::StepPrediction& step) {
  Json phases;
  for (std::size_t p = 0; p < phase_count; ++p) {
    const placement::PhasePrediction& phase = step.phases[p];
    phases[std::string(phase_names[p])] = {{"ms", 1e3 * phase.seconds},
                                           {"exchange_ms", 1e3 * phase.exchange},
                                           {"mean_ms", 1e3 * phase.mean},
                                           {"least_ms", 1e3 * phase.least},
                                           {"slowest_rank", phase.slowest_rank}};
  }
  return phases;
}

std::string predictions_text(const PredictedCases& cases, std::span<const PredictedPlan> predicted) {
  std::string text = heading(cases), remarks;
  for (const Scaling scaling : cases.scalings) text += scaling_page(cases, scaling, predicted, remarks);
  return text + remarks + answer(cases, predicted);
}

std::string predictions_json(const PredictedCases& cases, std::span<const PredictedPlan> predicted) {
  const Workload& workload = cases.options.workload;
  Json json{{"predicted", true},
            {"machine",
             {{"name", cases.machine.name}, {"source", cases.machine.source}, {"measured", cases.machine.measured}}},
            {"workload", workload.name},
            {"scale", workload.scale},
            {"case", cases.config.name()},
            {"dense", name_of(cases.options.dense.kind)},
            {"cases", Json::array()}};
  for (const PredictedPlan& plan : predicted) {
    Json each{{"plan", plan.plan},
              {"ranks", plan.ranks},
              {"nodes", plan.nodes},
              {"scaling", scaling_name(plan.scaling)},
              {"global_batch", plan.batch}};
    if (!plan.predicted()) {
      each["problem"] = plan.problem;
      json["cases"].push_back(each);
      continue;
    }
    each["step_ms"] = 1e3 * plan.step.seconds;
    each["samples_per_s"] = plan.samples_per_second();
    each["speedup"] = speedup(plan, predicted);
    each["bound"] = {{"phase", name_of(plan.bound.phase)}, {"by", plan.bound.by}};
    each["phases"] = phases_json(plan.step);
    each["path"] = path_json(plan.step.path);
    each["sent_bytes_max"] = most_sent(plan);
    each["memory_bytes_max"] = plan.memory;
    each["fullest_rank"] = plan.fullest_rank;
    if (cases.machine.memory_per_rank > 0.0) each["missing_bytes"] = plan.missing;
    each["idle_ranks"] = plan.idle_ranks;
    json["cases"].push_back(each);
  }
  return json.dump(2) + "\n";
}

std::string predictions_csv(const PredictedCases& cases, std::span<const PredictedPlan> predicted) {
  std::string text =
      "machine,measured,workload,scale,scaling,global_batch,plan,ranks,nodes,step_ms,samples_per_s,speedup";
  for (const auto& phase : phase_names) text += fmt::format(",{}_ms", phase);
  text += ",bound_phase,bound_by,sent_bytes_max,memory_bytes_max,missing_bytes,idle_ranks\n";
  for (const PredictedPlan& plan : predicted) {
    if (!plan.predicted()) continue;
    text += fmt::format("{},{},{},{},{},{},\"{}\",{},{},{},{},{}", cases.machine.name, cases.machine.measured,
                        cases.options.workload.name, cases.options.workload.scale, scaling_name(plan.scaling),
                        plan.batch, plan.plan, plan.ranks, plan.nodes, 1e3 * plan.step.seconds,
                        plan.samples_per_second(), speedup(plan, predicted));
    for (const placement::PhasePrediction& phase : plan.step.phases) text += fmt::format(",{}", 1e3 * phase.seconds);
    text += fmt::format(",{},{},{:.0f},{:.0f},{:.0f},{}\n", name_of(plan.bound.phase), plan.bound.by, most_sent(plan),
                        plan.memory, plan.missing, plan.idle_ranks);
  }
  return text;
}

}  // namespace shardmark::workloads
