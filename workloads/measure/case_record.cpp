// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/case_record.hpp"

#include <algorithm>
#include <cmath>

#include "results/statistics.hpp"

namespace shardmark {
namespace {

std::string text_of(std::string_view name) { return std::string(name); }

double rounded(double value) { return std::round(1e3 * value) / 1e3; }

double ratio(std::int64_t over, std::int64_t under) {
  return rounded(static_cast<double>(over) / static_cast<double>(under));
}

void describe(const Job& job, const PlannedCase& planned, CaseRecord& record) {
  const Workload& workload = job.options.workload;
  const Plan& plan = job.plans[planned.plan];
  const Movement& movement = planned.how.movement;
  record.workload = workload.name;
  record.scale = workload.scale;
  record.plan = plan.name;
  record.transfer = name_of(movement.transfer);
  record.exchange = planned.how.exchange.name();
  record.wire = {text_of(name_of(movement.wire.forward)), text_of(name_of(movement.wire.backward)),
                 text_of(name_of(id_type(movement.wire_ids, plan, workload.tables)))};
  record.groups = count_groups(group_of_tables(planned.how.groups, plan, workload.tables, workload.features));
  record.group_balance = name_of(planned.how.groups.balance);
  record.optimizer = name_of(workload.tables.front().optimizer.kind);
  record.ranks = job.comm.size();
  record.threads = Execution().concurrency();
  record.global_batch = workload.global_batch;
  if (std::ranges::any_of(plan.tables, &TablePlacement::data_parallel))
    record.details["replicated_gradients"] = name_of(movement.replicated_gradients);
}

}  // namespace

CaseRecord case_record(const Job& job, std::size_t number, const Timings& timings, const Verdict& verdict) {
  const PlannedCase& planned = job.cases[number];
  CaseRecord record;
  describe(job, planned, record);
  record.step_ms = step_time(timings.step_ms);
  record.samples_per_s = samples_per_second(record.global_batch, record.step_ms.median);
  for (std::size_t p = 0; p < phase_names.size(); ++p)
    record.phases.push_back({.name = text_of(phase_names[p]),
                             .median_ms = summarize(timings.phase_max_ms[p]).median,
                             .mean_over_ranks_ms = summarize(timings.phase_mean_ms[p]).median,
                             .bytes = timings.phase_bytes[p]});
  record.communication_ms = summarize(timings.communication_ms).median;
  record.exposed_ms = summarize(timings.exposed_ms).median;
  record.imbalance = summarize(timings.imbalance).median;
  record.sent_bytes_max = timings.sent_bytes;
  record.details["payload_bytes_max"] = timings.payload_bytes;
  record.details["huge_page_share"] = rounded(timings.huge_page_share);
  if (timings.rows.read > 0) {
    record.details["dedup"] = name_of(planned.how.movement.dedup);
    if (!timings.picked_dedup.empty()) record.details["dedup_picked"] = timings.picked_dedup;
    record.details["ids_per_row"] = ratio(timings.rows.ids, timings.rows.asked);
    record.details["rows_per_read"] = ratio(timings.rows.asked, timings.rows.read);
  }
  if (!timings.picked.empty()) record.details["picked"] = timings.picked;
  record.checked_steps = job.options.checked_steps;
  record.wrong = verdict.wrong;
  record.wire_error = verdict.wire_error;
  return record;
}

}  // namespace shardmark
