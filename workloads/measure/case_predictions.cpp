// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/case_predictions.hpp"

#include <algorithm>
#include <cmath>

#include "comm/collectives.hpp"
#include "reference/dense/dense_spec.hpp"
#include "workloads/batches/workload_statistics.hpp"
#include "workloads/cases/placement_inputs.hpp"
#include "workloads/step/pipeline/pipeline_counts.hpp"

namespace shardmark::workloads {

int ranks_per_node(const comm::Communicator& comm) {
  std::size_t most = 1;
  for (int node = 0; node < comm.nodes(); ++node) most = std::max(most, comm.ranks_of(node).size());
  return static_cast<int>(most);
}

std::vector<std::optional<placement::StepPrediction>> predict_cases(const Job& job) {
  std::vector<std::optional<placement::StepPrediction>> predictions(job.cases.size());
  const bool layers = has_layers(job.options.dense.kind);
  if (job.machine == nullptr || (layers && job.machine->flops <= 0.0)) return predictions;
  const placement::IdStatistics ids =
      id_statistics_of(job.comm, job.options.workload, job.options.data, [](const std::string&) {});
  for (std::size_t p = 0; p < job.plans.size(); ++p) {
    const auto& [plan, options] = job.plans[p];
    const Workload& workload = options.workload;
    const placement::LookupStatistics statistics(workload.tables, workload.features, ids);
    for (const std::size_t c : job.cases_of(p)) {
      const Case& config = job.cases[c].config;
      const placement::StepContext step =
          step_context_of(statistics, workload, plan, config, ranks_per_node(job.comm), options.dense.kind);
      predictions[c] = prepared_ahead(placement::predict_step(step, *job.machine, plan), config.async);
    }
  }
  return predictions;
}

std::optional<placement::StepPrediction> prepared_ahead(const placement::StepPrediction& step, const Async& async) {
  if (!async.on() || async.inlined()) return step;
  if (async.mode == AsyncMode::patched) return std::nullopt;
  const std::size_t first_left = index_of(async.looks_up() ? Phase::dense : Phase::lookup);
  double prefetched = 0.0, rest = 0.0, exchanges = 0.0;
  for (std::size_t p = 0; p < step.phases.size(); ++p) {
    (p < first_left ? prefetched : rest) += step.phases[p].seconds;
    exchanges += step.phases[p].exchange;
  }
  const std::int64_t threads =
      async.threads > 0 ? async.threads : threads_needed(prefetched, rest, Async::most_auto_threads);
  placement::StepPrediction prepared = step;
  prepared.seconds =
      std::max({1.0 / predicted_rate(threads, prefetched, rest), std::ranges::max(step.rank_seconds), exchanges});
  return prepared;
}

void record_prediction(const placement::StepPrediction& predicted, results::CaseRecord& record) {
  const auto ms = [](double seconds) { return std::round(1e9 * seconds) / 1e6; };
  record.predicted_ms = ms(predicted.seconds);
  for (std::size_t p = 0; p < record.phases.size(); ++p) {
    record.phases[p].predicted_ms = ms(predicted.phases[p].seconds);
    record.phases[p].least_ms = ms(predicted.phases[p].least);
  }
  record.details["predicted_memory_max"] = std::llround(std::ranges::max(predicted.memory));
}

}  // namespace shardmark::workloads
