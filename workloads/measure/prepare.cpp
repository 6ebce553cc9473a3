// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "workloads/step/decide.hpp"

namespace shardmark::workloads {
namespace {

std::unique_ptr<ShardedTables> allocate(const comm::Communicator& comm, const std::vector<Table>& tables,
                                        const std::vector<Feature>& features, const placement::Plan& plan) {
  return comm::agree(comm, [&] { return std::make_unique<ShardedTables>(plan, tables, features, comm.rank()); });
}

/// Returns the options of the tables that need most batches until their rows have left the caches: the rows of the
/// others have left them too then.
const RunOptions& options_of_largest_tables(const Job& job) {
  return std::ranges::max_element(job.plans, {},
                                  [](const PlannedTables& planned) { return table_bytes(planned.options.workload); })
      ->options;
}

}  // namespace

void ReadyCase::watch_wire(bool on) {
  embedding.wire().watch(on);
  if (pipeline) pipeline->watch_wire(on);
}

kernels::VectorErrors ReadyCase::wire_error(Direction direction) {
  return pipeline ? pipeline->wire_error(direction) : embedding.wire().error(direction);
}

FirstStep::FirstStep(const comm::Communicator& comm, const RunOptions& options, const placement::Plan& plan,
                     const Case& config, BatchSource& batches)
    : input(read_batch(comm, options, batches, 0)),
      tables(allocate(comm, with_decisions(comm, options.workload.tables, options.workload.features, input),
                      options.workload.features, plan)),
      dense(make_dense_model(comm, options)),
      ready(comm, *tables, *dense, plan, config,
            decide(comm, plan, tables->tables(), tables->features(), config.movement_in_effect(), input),
            options.fault) {
  tables->fill(options.row_values());
}

Prepared::Prepared(const Job& job, BatchSource& batches, const Status& status)
    : job_(job),
      source_(batches),
      batches_(read_batches(job.comm, options_of_largest_tables(job), batches, status)),
      step_batches_(batches_.inputs, job.options, batches),
      decided_(job.cases.size()),
      async_threads_(job.cases.size()) {
  for (const PlannedTables& planned : job.plans)
    decided_tables_.push_back(with_decisions(job.comm, planned.options.workload.tables,
                                             planned.options.workload.features, batches_.inputs.front()));
}

bool Prepared::hold(std::size_t plan) {
  if (tables_ && held_ == plan) return false;
  ready_.reset();
  tables_.reset();
  tables_ =
      allocate(job_.comm, decided_tables_[plan], job_.plans[plan].options.workload.features, job_.plans[plan].plan);
  if (!dense_) dense_ = make_dense_model(job_.comm, job_.options);
  held_ = plan;
  return true;
}

void Prepared::fill() {
  tables_->fill(job_.plans[held_].options.row_values());
  dense_->reset();
}

ReadyCase& Prepared::ready(std::size_t number) {
  if (ready_ && ready_number_ == number) return *ready_;
  ready_.reset();
  const Case& config = job_.cases[number].config;
  const placement::Plan& plan = job_.planned(number).plan;
  auto& decided = decided_[number];
  if (!decided)
    decided = decide(job_.comm, plan, tables_->tables(), tables_->features(), config.movement_in_effect(),
                     batches_.inputs.front());
  ready_number_ = number;
  ready_.emplace(job_.comm, *tables_, *dense_, plan, config, *decided, job_.options.fault);
  if (config.async.on())
    ready_->pipeline =
        std::make_unique<Pipeline>(job_.comm, *tables_, plan, config, *decided, job_.options.fault,
                                   async_threads(number), config.async.inlined() ? std::nullopt : job_.stage_cores);
  return *ready_;
}

/// Returns the threads of the case that is ready: as many as were requested, or as many as the formula requires by the
/// second of two steps that prepare nothing before, of the slowest rank.
std::int64_t Prepared::async_threads(std::size_t number) {
  const Async& async = job_.cases[number].config.async;
  std::int64_t& threads = async_threads_[number];
  if (threads > 0 || async.inlined()) return threads;
  if (async.threads > 0) return threads = async.threads;
  if (tables_->steps() == 0) fill();
  ready_->step(inputs().front());
  const PhaseCosts costs = ready_->step(inputs().back());
  double prefetched = 0.0, main = 0.0;
  for (std::size_t p = 0; p < phase_count; ++p) {
    const bool is_prefetched = p <= index_of(async.looks_up() ? Phase::output_dist : Phase::input_dist);
    (is_prefetched ? prefetched : main) += costs.seconds[p];
  }
  const auto needed = threads_needed(prefetched, main, Async::most_auto_threads);
  return threads = comm::all_reduce(job_.comm, needed, comm::Reduce::max);
}

}  // namespace shardmark::workloads
