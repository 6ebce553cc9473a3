// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/pipeline/pipeline.hpp"

#include <stdexcept>

#include "comm/collectives.hpp"
#include "comm/exchange/exchange_calibration.hpp"
#include "workloads/step/faults.hpp"
#include "workloads/step/training_step.hpp"
#include "workloads/step/watchdog.hpp"

namespace shardmark::workloads {
namespace {

/// Returns how the threads wait, the same on all ranks.
comm::Waiting waiting_of_threads(const comm::Communicator& comm, const StagePool& pool) {
  if (pool.kind == PoolKind::inlined || pool.kind == PoolKind::dedicated) return comm::Waiting::poll;
  return waiting_beside_compute(comm);
}

/// Returns a communicator of the same ranks and nodes; what exchange auto knows of them is not timed again.
comm::Communicator duplicate(const comm::Communicator& parent, const Case& config) {
  std::vector<int> leaders;
  for (int r = 0; r < parent.size(); ++r) leaders.push_back(parent.ranks_of(parent.node_of(r)).front());
  comm::Communicator comm(parent.get(), parent.count_limit(), std::move(leaders));
  if (config.exchange.choice->chooses) comm::set_calibration(comm, comm::calibration_of(parent));
  return comm;
}

PipelineShape shape_of(const Async& async, std::int64_t threads) {
  return {.threads = threads,
          .capacity = async.room(threads),
          .bound = async.staleness_bound(threads),
          .looks_up = async.looks_up(),
          .in_order = async.in_order()};
}

/// Returns whether stale rows are patched: inline no row is stale.
bool patches_rows(const Async& async) { return async.mode == AsyncMode::patched && !async.inlined(); }

}  // namespace

Pipeline::Place::Place(const comm::Communicator& parent, ShardedTables& tables, const placement::Plan& plan,
                       const Case& config, const placement::Decisions& decided, Fault fault)
    : comm(duplicate(parent, config)), embedding(comm, tables, plan, config, decided, fault), flight(embedding) {
  if (!patches_rows(config.async)) return;
  for (std::int64_t g = 0; g < flight.groups(); ++g) patches.push_back(std::make_unique<VectorPatch>(flight.group(g)));
}

Pipeline::Pipeline(const comm::Communicator& comm, ShardedTables& tables, const placement::Plan& plan,
                   const Case& config, const placement::Decisions& decided, Fault fault, std::int64_t threads,
                   std::optional<comm::CoreSet> cores)
    : comm_(comm),
      config_(config),
      fault_(fault),
      shape_(shape_of(config.async, threads)),
      waiting_(waiting_of_threads(comm, config.async.pool)),
      cores_(std::move(cores)) {
  while (std::ssize(places_) < shape_.places())
    places_.push_back(std::make_unique<Place>(comm, tables, plan, config, decided, fault));
  if (!patches_rows(config.async)) return;
  Flight& first = places_.front()->flight;
  for (std::int64_t g = 0; g < first.groups(); ++g) versions_.emplace_back(first.group(g));
}

Pipeline::~Pipeline() {
  if (!threads_ || threads_->stop()) return;
  for (auto& place : places_) static_cast<void>(place.release());  // a thread still waits in MPI with it
}

void Pipeline::start(const StepBatches& batches, std::int64_t first, std::int64_t steps) {
  batches_ = batches;
  first_ = first;
  steps_ = end_ = 0;
  patched_ = {};
  main_seconds_ = 0.0;
  for (RowVersions& versions : versions_) versions.clear();
  AheadWork& work = *this;
  threads_ = std::make_unique<StageThreads>(shape_, work, [waiting = waiting_, cores = cores_] {
    if (cores) cores->bind_thread();
    comm::set_waiting(waiting);
  });
  extend(steps);
}

void Pipeline::extend(std::int64_t steps) {
  end_ += steps;
  threads_->extend(end_);
}

void Pipeline::finish() {
  if (steps_ < end_) throw std::logic_error("pipeline: steps are left");
  counts_ = threads_->counts();
  threads_->stop();
  threads_.reset();
}

void Pipeline::read(Ticket ticket) {
  Place& batch = place(ticket);
  batch.input = &batches_->get(batch.comm, first_ + ticket, batch.read);
}

void Pipeline::distribute(Ticket ticket) {
  Place& batch = place(ticket);
  batch.costs = {};
  batch.flight.each(batch.costs, Phase::input_dist, Phase::input_dist,
                    [&](GroupFlight& flight, std::int64_t, PhaseClock& clock) {
                      input_dist(flight, *batch.input);
                      clock.end(Phase::input_dist);
                      commit_fault(fault_, Phase::input_dist, flight);
                    });
}

std::int64_t Pipeline::agree(Ticket ticket, std::int64_t own) {
  const comm::Communicator& comm = place(ticket).comm;
  return comm.size() == 1 || shape_.inlined() ? own : comm::all_reduce(comm, own, comm::Reduce::max);
}

void Pipeline::look_up(Ticket ticket) {
  Place& batch = place(ticket);
  batch.flight.each(batch.costs, Phase::lookup, Phase::lookup,
                    [&](GroupFlight& flight, std::int64_t, PhaseClock& clock) {
                      lookup(flight);
                      clock.end(Phase::lookup);
                      commit_fault(fault_, Phase::lookup, flight);
                    });
}

/// Delivers vectors home; in mode patched outputs are made of them later.
void Pipeline::deliver(Ticket ticket) {
  Place& batch = place(ticket);
  batch.flight.each(batch.costs, Phase::output_dist, Phase::output_dist,
                    [&](GroupFlight& flight, std::int64_t, PhaseClock& clock) {
                      send_vectors(flight);
                      if (config_.async.mode != AsyncMode::patched) make_outputs(flight, *batch.input);
                      clock.end(Phase::output_dist);
                      if (config_.async.mode != AsyncMode::patched) commit_fault(fault_, Phase::output_dist, flight);
                    });
}

/// Returns the ticket of rank 0: what it has complete all others are completing.
Ticket Pipeline::choose(Ticket own) {
  comm::broadcast(comm_, std::as_writable_bytes(std::span(&own, 1)), 0);
  return own;
}

/// Patches the vectors of the step that would update version `now` of the tables; all ranks have seen the same version.
void Pipeline::patch(Place& batch, std::int64_t seen, std::int64_t now) {
  batch.flight.each(batch.costs, Phase::output_dist, Phase::output_dist,
                    [&](GroupFlight& flight, std::int64_t group, PhaseClock& clock) {
                      if (seen < now)
                        patched_ += batch.patches[group]->run(versions_[group], seen);
                      else
                        patched_.vectors += flight.vectors_looked_up();
                      make_outputs(flight, *batch.input);
                      clock.end(Phase::output_dist);
                      commit_fault(fault_, Phase::output_dist, flight);
                    });
}

void Pipeline::train(Place& batch, DenseModel& dense) {
  const auto gradients =
      batch.flight.dense(batch.costs, [&] { return dense.run(*batch.input, batch.flight, batch.costs); });
  const kernels::UpdateStep now = batch.embedding.tables().next_step();
  batch.flight.each(batch.costs, Phase::grad_dist, Phase::update,
                    [&](GroupFlight& flight, std::int64_t, PhaseClock& clock) {
                      grad_dist(flight, *batch.input, gradients);
                      clock.end(Phase::grad_dist);
                      commit_fault(fault_, Phase::grad_dist, flight);
                      sum_gradients(flight, *batch.input, now);
                      forget_last_row(fault_, flight);
                      clock.end(Phase::update);
                    });
  const double begin = MPI_Wtime();
  threads_->begin_update();
  held_seconds_ = MPI_Wtime() - begin;
  batch.flight.each(batch.costs, Phase::update, Phase::update,
                    [&](GroupFlight& flight, std::int64_t group, PhaseClock& clock) {
                      apply_optimizer(flight, now);
                      if (!versions_.empty()) versions_[group].mark(flight, steps_);
                      clock.end(Phase::update);
                      commit_fault(fault_, Phase::update, flight);
                    });
  threads_->end_update();
}

PhaseCosts Pipeline::step(DenseModel& dense) {
  if (steps_ > 0) threads_->release();
  const double begin = MPI_Wtime();
  ticket_ = threads_->consume();
  const double taken = MPI_Wtime();
  const std::int64_t now = steps_++, seen = threads_->seen(ticket_);
  staleness_ = now - seen;
  Place& batch = current();
  if (!shape_.inlined())
    batch.costs.exposed_seconds = taken - begin;  // what threads waited for was hidden but for that
  if (!shape_.looks_up) {
    look_up(ticket_);
    deliver(ticket_);
  } else if (config_.async.mode == AsyncMode::patched) {
    patch(batch, seen, now);
    staleness_ = 0;
  }
  train(batch, dense);
  main_seconds_ += MPI_Wtime() - taken - held_seconds_;
  batch.flight.charge(batch.costs);
  batch.costs.count(batch.flight.sent());
  return batch.costs;
}

std::int64_t Pipeline::buffered_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& batch : places_)
    for (std::int64_t g = 0; g < batch->flight.groups(); ++g) {
      const GroupFlight& flight = batch->flight.group(g);
      bytes += static_cast<std::int64_t>(4 * flight.vectors.extent(0) + 8 * flight.owned.ids.extent(0) +
                                         8 * flight.owned.offsets.extent(0) + 4 * flight.owned.weights.extent(0));
    }
  return bytes;
}

void Pipeline::watch_wire(bool on) {
  for (auto& batch : places_) batch->embedding.wire().watch(on);
}

kernels::VectorErrors Pipeline::wire_error(Direction direction) const {
  kernels::VectorErrors errors;
  for (const auto& batch : places_) errors += batch->embedding.wire().error(direction);
  return errors;
}

}  // namespace shardmark::workloads
