// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/timing.hpp"

#include <algorithm>
#include <numeric>

#include "comm/collectives.hpp"
#include "workloads/measure/schedule.hpp"

namespace shardmark::workloads {

std::vector<StorageReport> empty_reports(const std::vector<Table>& tables) {
  std::vector<StorageReport> reports;
  for (const StorageMaker& maker : storage_makers()) {
    StorageReport report{&maker, {}, std::vector<std::int64_t>(maker.numbers.size())};
    std::ranges::copy_if(tables, std::back_inserter(report.tables),
                         [&](const Table& table) { return table.storage == maker.storage; });
    if (!report.numbers.empty() && !report.tables.empty()) reports.push_back(std::move(report));
  }
  return reports;
}

void report_step(const comm::Communicator& comm, const Flight& flight, std::vector<StorageReport>& reports) {
  for (StorageReport& report : reports) {
    std::vector<std::int64_t> numbers(report.numbers.size());
    flight.report(report.maker->storage, numbers);
    comm::all_reduce(comm, std::span<std::int64_t>(numbers), comm::Reduce::sum);
    for (std::size_t n = 0; n < numbers.size(); ++n)
      if (report.maker->numbers[n].of == ReportedNumber::Of::step) report.numbers[n] = numbers[n];
  }
}

std::vector<std::vector<std::int64_t>> ReportWatch::counted() const {
  std::vector<std::vector<std::int64_t>> counted;
  for (const StorageReport& report : reports_) {
    std::vector<std::int64_t>& numbers = counted.emplace_back(report.numbers.size());
    tables_.report(report.maker->storage, numbers);
    comm::all_reduce(comm_, std::span<std::int64_t>(numbers), comm::Reduce::sum);
  }
  return counted;
}

void ReportWatch::end() {
  const auto now = counted();
  for (std::size_t r = 0; r < reports_.size(); ++r)
    for (std::size_t n = 0; n < now[r].size(); ++n) {
      const ReportedNumber::Of of = reports_[r].maker->numbers[n].of;
      if (of == ReportedNumber::Of::timed_steps) reports_[r].numbers[n] += now[r][n] - before_[r][n];
      if (of == ReportedNumber::Of::end) reports_[r].numbers[n] = now[r][n];
    }
}

namespace {

std::int64_t steps_until_warm(const std::vector<Table>& tables, std::int64_t batches) {
  std::int64_t steps = 0;
  for (const Table& table : tables)
    if (const auto of_table = maker_of(table).steps_until_warm) steps = std::max(steps, of_table(table, batches));
  return steps;
}

/// Returns how many batches come before the next timed step: all, where they come again and again. Where each is read,
/// none does; where ids move on from batch to batch, those come before that were timed until now, so that keys which a
/// batch names first are new to it.
std::int64_t batches_before(const RunOptions& options, const Prepared& prepared, const Timings& timings) {
  if (prepared.step_batches().reads()) return 0;
  const bool move = options.data.file.empty() && options.workload.ids.moves();
  const auto all = std::ssize(prepared.inputs());
  return move ? std::min(all, std::ssize(timings.step_ms)) : all;
}

/// Returns the steps to take before one is timed. Tables that were filled again have cold caches and know no keys,
/// which a case that is timed longer would not notice. Steps that were taken on a few of the batches count for none.
std::int64_t steps_to_warm(const Job& job, Prepared& prepared, const Timings& timings) {
  const ShardedTables& tables = prepared.tables();
  const std::int64_t steps = steps_until_warm(tables.tables(), batches_before(job.options, prepared, timings));
  return tables.steps() < steps ? steps : 0;
}

/// Records the memory after a step, and not after each: it sorts ids and reads how the system maps the tables.
void look_at_memory(const comm::Communicator& comm, Flight& flight, Timings& timings) {
  const ShardedTables& tables = flight.embedding().tables();
  timings.phase_bytes[index_of(Phase::lookup)] = comm::all_reduce(comm, flight.lookup_bytes(), comm::Reduce::max);
  timings.huge_page_share = comm::all_reduce(comm, tables.huge_page_share(), comm::Reduce::min);
  if (comm::built_for_gpus()) {
    const comm::GpuMemory gpu = comm::gpu_memory(comm);
    timings.gpu_bytes = comm::all_reduce(comm, gpu.total - gpu.free, comm::Reduce::max);
  }
  timings.reports = empty_reports(tables.tables());
  report_step(comm, flight, timings.reports);
}

/// Records the row counts of the latest step.
void look_at_rows(const comm::Communicator& comm, const Flight& flight, Timings& timings) {
  const RowCounts rows = flight.row_counts();
  timings.rows = {comm::all_reduce(comm, rows.ids, comm::Reduce::sum),
                  comm::all_reduce(comm, rows.requested, comm::Reduce::sum),
                  comm::all_reduce(comm, rows.read, comm::Reduce::sum)};
}

std::int64_t steps_of_visit(const Job& job, double seconds, double warm, const Timings& timings) {
  const std::int64_t steps = steps_per_visit(job.options, seconds, warm);
  return job.options.steps ? std::min(steps, *job.options.steps - std::ssize(timings.step_ms)) : steps;
}

/// Takes `count` steps of the pipeline, and gives when they ended, in seconds from the barrier before the first, on the
/// last rank.
std::vector<PhaseCosts> take_steps(const comm::Communicator& comm, ReadyCase& ready, std::int64_t count,
                                   std::vector<double>& ends) {
  std::vector<PhaseCosts> costs;
  ends.clear();
  comm::barrier(comm);
  const double begin = MPI_Wtime();
  for (std::int64_t i = 0; i < count; ++i) {
    costs.push_back(ready.pipeline->step(ready.dense));
    ends.push_back(MPI_Wtime() - begin);
  }
  comm::all_reduce(comm, std::span<double>(ends), comm::Reduce::max);
  return costs;
}

void visit_pipeline(const Job& job, ReadyCase& ready, const ShardedTables& tables, const StepBatches& batches,
                    std::int64_t to_warm, double seconds, Timings& timings) {
  Pipeline& pipeline = *ready.pipeline;
  const std::int64_t places = pipeline.shape().places();
  const std::int64_t untimed = std::max({std::int64_t{2}, places, to_warm});
  pipeline.start(batches, std::ssize(timings.step_ms), untimed + places);
  std::vector<double> ends;
  take_steps(job.comm, ready, untimed, ends);
  if (timings.step_ms.empty()) look_at_memory(job.comm, pipeline.flight(), timings);
  const double warm = ends[untimed - 1] - ends[untimed - 2];
  const std::int64_t steps = std::max<std::int64_t>(0, steps_of_visit(job, seconds, warm, timings));
  pipeline.extend(steps);
  ReportWatch watch(job.comm, tables, timings.reports);
  const std::vector<PhaseCosts> costs = take_steps(job.comm, ready, steps, ends);
  watch.end();
  for (std::int64_t i = 0; i < places; ++i) pipeline.step(ready.dense);
  pipeline.finish();
  if (steps > 0) timings.visits.push_back(steps);
  for (std::int64_t i = 0; i < steps; ++i)
    timings.add(job.comm, costs[i], ends[i] - (i > 0 ? ends[i - 1] : 0.0), pipeline.first_phase_of_step());
  look_at_rows(job.comm, pipeline.flight(), timings);
  add_facts(job.comm, pipeline, timings.async);
  timings.picked = pipeline.flight().embedding().picked();
  timings.picked_dedup = pipeline.flight().embedding().picked_dedup();
}

/// Times a step on the next of the batches, which is put into `read` where it is read.
void time_step(const comm::Communicator& comm, ReadyCase& ready, const StepBatches& batches, StepInput& read,
               Timings& timings) {
  comm::barrier(comm);
  const double begin = MPI_Wtime();
  const StepInput& input = batches.get(comm, std::ssize(timings.step_ms), read);
  const double has_read = MPI_Wtime();
  const PhaseCosts costs = ready.step(input);
  timings.add(comm, costs, MPI_Wtime() - begin);
  if (batches.reads()) timings.read_ms.push_back(1e3 * comm::all_reduce(comm, has_read - begin, comm::Reduce::max));
  look_at_rows(comm, ready.flight, timings);
}

}  // namespace

void Timings::add(const comm::Communicator& comm, const PhaseCosts& costs, double seconds, Phase first) {
  std::array<double, phase_count + 1> sum{};
  std::ranges::copy(costs.seconds, sum.begin());
  sum[phase_count] = seconds;
  std::array<double, 2 * phase_count + 1> largest{};  // of phases, of the step, of the times at which phases are left
  std::ranges::copy(sum, largest.begin());
  const auto hidden = static_cast<std::ptrdiff_t>(index_of(first));
  std::partial_sum(costs.seconds.begin() + hidden, costs.seconds.end(), largest.begin() + phase_count + 1 + hidden);
  comm::all_reduce(comm, std::span<double>(largest), comm::Reduce::max);
  comm::all_reduce(comm, std::span<double>(sum), comm::Reduce::sum);
  std::array<std::int64_t, phase_count + 2> bytes{};
  std::ranges::copy(costs.bytes, bytes.begin());
  bytes[phase_count] = costs.sent();
  bytes[phase_count + 1] = std::reduce(costs.payload.begin(), costs.payload.end());
  comm::all_reduce(comm, std::span<std::int64_t>(bytes), comm::Reduce::max);
  std::array calls{costs.communication_seconds, costs.exposed_seconds};
  comm::all_reduce(comm, std::span<double>(calls), comm::Reduce::max);

  communication_ms.push_back(1e3 * calls[0]);
  exposed_ms.push_back(1e3 * calls[1]);
  step_ms.push_back(1e3 * largest[phase_count]);
  for (std::size_t p = 0; p < phase_count; ++p) {
    phase_max_ms[p].push_back(1e3 * largest[p]);
    phase_mean_ms[p].push_back(1e3 * sum[p] / comm.size());
    const double left_before = p > 0 ? largest[phase_count + p] : 0.0;
    phase_path_ms[p].push_back(1e3 * (largest[phase_count + 1 + p] - left_before));
    phase_bytes[p] = std::max(phase_bytes[p], bytes[p]);
  }
  sent_bytes = std::max(sent_bytes, bytes[phase_count]);
  payload_bytes = std::max(payload_bytes, bytes[phase_count + 1]);
  const double mean = sum[index_of(Phase::lookup)] / comm.size();
  imbalance.push_back(mean > 0.0 ? largest[index_of(Phase::lookup)] / mean : 1.0);
}

void visit(const Job& job, Prepared& prepared, std::size_t number, double seconds, Timings& timings) {
  ReadyCase& ready = prepared.ready(number);
  const auto& inputs = prepared.inputs();
  const StepBatches& batches = prepared.step_batches();
  const ShardedTables& tables = prepared.tables();
  const std::int64_t to_warm = steps_to_warm(job, prepared, timings);
  if (ready.pipeline) return visit_pipeline(job, ready, tables, batches, to_warm, seconds, timings);
  for (std::int64_t i = 0; i < to_warm; ++i) ready.step(inputs[i % std::ssize(inputs)]);
  ready.step(inputs.front());
  if (timings.step_ms.empty()) look_at_memory(job.comm, ready.flight, timings);
  const double begin = MPI_Wtime();
  ready.step(inputs.back());
  const double warm = comm::all_reduce(job.comm, MPI_Wtime() - begin, comm::Reduce::max);
  const std::int64_t steps = steps_of_visit(job, seconds, warm, timings);
  if (steps > 0) timings.visits.push_back(steps);
  ReportWatch watch(job.comm, tables, timings.reports);
  StepInput read;
  for (std::int64_t i = 0; i < steps; ++i) time_step(job.comm, ready, batches, read, timings);
  watch.end();
  timings.picked = ready.embedding.picked();
  timings.picked_dedup = ready.embedding.picked_dedup();
}

}  // namespace shardmark::workloads
