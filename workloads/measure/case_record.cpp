// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/case_record.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "results/async_fields.hpp"
#include "results/modes.hpp"
#include "results/statistics.hpp"
#include "results/tensor_train_fields.hpp"
#include "workloads/batches/compute_threads.hpp"
#include "workloads/cases/option_table.hpp"
#include "workloads/measure/case_predictions.hpp"
#include "workloads/measure/memory.hpp"

namespace shardmark::workloads {
namespace {

double rounded(double value) { return std::round(1e3 * value) / 1e3; }

double ratio(std::int64_t over, std::int64_t under) {
  return rounded(static_cast<double>(over) / static_cast<double>(under));
}

/// Returns the paths of the mean step, scaled to one of `step_ms`.
std::array<double, phase_count> paths_of(const CaseState& state, double step_ms) {
  std::array<double, phase_count> paths{};
  const Timings& timings = state.timings;
  const auto own = state.own_step_ms();
  const double of_all = std::reduce(own.begin(), own.end());
  for (std::size_t p = 0; p < phase_count; ++p)
    paths[p] = std::reduce(timings.phase_path_ms[p].begin(), timings.phase_path_ms[p].end()) * step_ms / of_all;
  return paths;
}

/// Returns the bytes of rows and state of the rank that holds most.
std::int64_t table_bytes_max(const PlannedTables& planned) {
  return std::llround(std::ranges::max(table_bytes(planned.plan, planned.options.workload.tables)));
}

/// Adds what checkpoints took, where there were any.
void record_costs(const char* field, const CheckpointCosts& costs, results::CaseRecord& record) {
  if (costs.times == 0) return;
  record.details[field] = {{"times", costs.times},
                           {"seconds", rounded(costs.seconds)},
                           {"bytes", costs.bytes},
                           {"gb_per_s", rounded(costs.gb_per_s())},
                           {"sent_bytes", costs.sent}};
  auto& details = record.details[field];
  if (costs.ceiling.bytes > 0) details["ceiling_gb_per_s"] = rounded(costs.ceiling.gb_per_s());
  if (costs.longest == 0.0) {  // of restores: nothing goes on meanwhile
    if (costs.ceiling.bytes > 0) details["cached_share"] = rounded(costs.cached_share);
    return;
  }
  details["waited_seconds"] = rounded(costs.waited);
  details["longest_wait_seconds"] = rounded(costs.longest);
  details["end_wait_seconds"] = rounded(costs.ended);
  details["steps_behind"] = costs.behind.steps;
  details["step_ms_behind"] = rounded(costs.behind.mean_ms());
  details["step_ms_between"] = rounded(costs.between.mean_ms());
}

/// Adds the published time of a lookup, and the rate by the published accounting, to what is told of tensor trains.
void add_published(const PublishedLookup& published, nlohmann::ordered_json& details) {
  namespace fields = results::tensor_train_fields;
  const auto tt = details.find(fields::object);
  if (tt == details.end()) return;
  (*tt)[fields::fbtt_printed_gflops] = published.counted_iterations * tt->at(fields::nominal_gflops).get<double>();
  (*tt)[fields::fbtt_published_us_per_lookup] = published.us;
}

}  // namespace

double CaseState::least_visit_seconds() const {
  if (timings.visits.empty()) return visit_seconds;
  const auto latest = timings.step_ms.end() - timings.visits.back();
  const double timed = 1e-3 * std::reduce(latest, timings.step_ms.end());
  return std::max(0.0, visit_seconds - timed) + 2e-3 * step_time().median;
}

std::vector<std::size_t> by_promise(const std::vector<CaseState>& states, std::vector<std::size_t> cases) {
  std::ranges::stable_sort(cases, {}, [&](std::size_t c) {
    if (!states[c].timings.step_ms.empty()) return 1e-3 * states[c].step_time().median;
    return states[c].predicted ? states[c].predicted->seconds : std::numeric_limits<double>::max();
  });
  return cases;
}

namespace {

/// Adds what checks found, and what stopped the case.
void record_checks(const CaseState& state, results::CaseRecord& record) {
  if (!state.stopped.empty()) record.details["stopped"] = state.stopped;
  record.checked_steps = state.checked.steps;
  for (const char* field : {"checked_after", results::unjudged_field, results::first_wrong_field})
    record.details.erase(field);
  if (state.checked.steps_after > 0) record.details["checked_after"] = state.checked.steps_after;
  if (!state.checked.unjudged.empty()) record.details[results::unjudged_field] = state.checked.unjudged;
  record.wrong = state.checked.wrong.count;
  if (record.wrong > 0) record.details[results::first_wrong_field] = state.checked.wrong.first;
  record.wire_error = state.checked.wire_error;
}

}  // namespace

results::CaseRecord case_record(const Job& job, std::size_t number, const CaseState& state, const Prepared& prepared) {
  const Timings& timings = state.timings;
  const Case& config = job.cases[number].config;
  const auto& [plan, options] = job.planned(number);
  results::CaseRecord record;
  if (state.earlier && state.own_step_ms().empty()) {
    record = *state.earlier;
    record_checks(state, record);
    return record;
  }
  record.workload = job.options.workload.name;
  record.plan = plan.name;
  record.options = case_options(options, config, plan);
  record.options["batches"] = prepared.inputs().size();
  record.changed = changed_options(options, config);
  record.details = schedule_options(job.options);
  record.details[results::plan_digest_field] = state.plan_digest;
  record.ranks = job.comm.size();
  record.threads = compute_thread_count();
  record.step_ms = state.step_time();
  record.samples_per_s = results::samples_per_second(job.options.workload.global_batch, record.step_ms.median);
  const auto paths = paths_of(state, record.step_ms.median);
  for (std::size_t p = 0; p < phase_count; ++p)
    record.phases.push_back({.name = std::string(phase_names[p]),
                             .median_ms = results::summarize(timings.phase_max_ms[p]).median,
                             .mean_over_ranks_ms = results::summarize(timings.phase_mean_ms[p]).median,
                             .bytes = timings.phase_bytes[p],
                             .path_ms = paths[p]});
  if (state.predicted) record_prediction(*state.predicted, record);
  record.communication_ms = results::summarize(timings.communication_ms).median;
  record.exposed_ms = results::summarize(timings.exposed_ms).median;
  record.imbalance = results::summarize(timings.imbalance).median;
  record.sent_bytes_max = timings.sent_bytes;
  record.details["payload_bytes_max"] = timings.payload_bytes;
  record.details["table_bytes_max"] = table_bytes_max(job.planned(number));
  if (options.bounds_check == kernels::BoundsCheck::warn || options.bounds_check == kernels::BoundsCheck::fold) {
    std::int64_t replaced = 0;
    for (const StepInput& input : prepared.inputs()) replaced += input.global_replaced;
    record.details["replaced_ids"] = replaced;
  }
  record.details["huge_page_share"] = rounded(timings.huge_page_share);
  if (timings.gpu_bytes > 0) record.details["gpu_bytes_max"] = timings.gpu_bytes;
  if (timings.rows.read > 0) {
    if (!timings.picked_dedup.empty()) record.details["dedup_picked"] = timings.picked_dedup;
    record.details["ids_per_row"] = ratio(timings.rows.ids, timings.rows.requested);
    record.details["rows_per_read"] = ratio(timings.rows.requested, timings.rows.read);
  }
  const auto ms = [&](Phase phase) { return record.phases[index_of(phase)].median_ms; };
  const StepMilliseconds times{record.step_ms.median, ms(Phase::lookup) + ms(Phase::update)};
  for (const StorageReport& report : timings.reports)
    record.details[report.maker->field] = report.maker->details(report.tables, report.numbers, times);
  if (const auto& published = job.options.workload.published_lookup) add_published(*published, record.details);
  if (state.training && state.training->quality) {
    const TrainingWindow::Quality& quality = *state.training->quality;
    record.details["loss"] = quality.loss;
    if (quality.auc) record.details["auc"] = *quality.auc;
    record.details["auc_steps"] = quality.steps;
    record.details["trained_steps"] = state.training->steps;
    if (const auto samples = prepared.samples_of_data())
      record.details["data_passes"] =
          rounded(static_cast<double>(state.training->steps * job.options.workload.global_batch) /
                  static_cast<double>(*samples));
  }
  if (state.training) {
    record_costs("saved", state.training->saved, record);
    record_costs("restored", state.training->restored, record);
  }
  if (!timings.read_ms.empty()) record.details["read_ms"] = results::summarize(timings.read_ms).median;
  if (timings.async.any())
    record.details[results::async_fields::object] = async_details(timings.async, record.step_ms.median);
  if (!timings.picked.empty()) record.details["picked"] = timings.picked;
  record.details["batches_reason"] = prepared.batches().reason;
  if (const auto modes = results::two_modes(record.step_ms.samples))
    record.details[results::modes_field] = results::to_json(*modes);
  if (!state.conditions.empty()) record.details[results::conditions_field] = results::to_json(state.conditions);
  record.details["timed_batches"] = std::min<std::int64_t>(std::ssize(timings.step_ms), std::ssize(prepared.inputs()));
  record_checks(state, record);
  return record;
}

}  // namespace shardmark::workloads
