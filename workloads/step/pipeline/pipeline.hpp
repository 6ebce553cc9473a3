// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/affinity.hpp"
#include "workloads/batches/step_batches.hpp"
#include "workloads/step/dense/dense_model.hpp"
#include "workloads/step/pipeline/stage_threads.hpp"
#include "workloads/step/pipeline/vector_patch.hpp"

namespace shardmark::workloads {

/// Takes training steps whose ids (and rows, as the case says) are prepared by threads of their own while the steps
/// before them are taken. Every batch in flight has its own communicators, exchanges and buffers, so that all threads
/// may use MPI at once (MPI_THREAD_MULTIPLE); kernels of several threads take turns on the rank's compute threads
/// (Kokkos locks an execution space). Values are those of training_step, except in mode rows: there a row may lack the
/// updates of the last `staleness_bound` steps. Inline (PipelineShape) the calling thread prepares each batch when its
/// step begins, so that nothing is stale and nothing more than training_step is done.
class Pipeline : private AheadWork {
 public:
  /// Makes the batches in flight. Collective. All outlive the object. config: its mode is not off, its pool not
  /// automatic. threads: how many prepare batches, bound to `cores` where these are given; 0 in an inline pool.
  Pipeline(const comm::Communicator& comm, ShardedTables& tables, const placement::Plan& plan, const Case& config,
           const placement::Decisions& decided, Fault fault, std::int64_t threads,
           std::optional<comm::CoreSet> cores = {});
  ~Pipeline() override;

  /// Begins to prepare batches first, first + 1, …, `steps` of them. Not collective.
  void start(const StepBatches& batches, std::int64_t first, std::int64_t steps);
  /// Adds `steps` more.
  void extend(std::int64_t steps);
  /// Takes the next step. Collective. Rethrows what a thread threw. Costs are those of all phases, on whatever threads
  /// they ran; the exposed ones are calls of this thread and its waits for the batch.
  PhaseCosts step(DenseModel& dense);
  /// Joins the threads after the last step. Throws std::logic_error when steps are left.
  void finish();

  /// These return what the latest step made, until the next one, of which input, and how many updates its rows lacked.
  Flight& flight() { return current().flight; }
  const StepInput& input() { return *current().input; }
  /// Returns its number among the batches, from 0: that of the step where they are taken in the order of the input.
  Ticket ticket() const { return ticket_; }
  std::int64_t staleness() const { return staleness_; }

  ShardedTables& tables() { return places_.front()->embedding.tables(); }
  /// Returns the first of the phases that a step runs itself: those before it have been run when the batch was
  /// prepared.
  Phase first_phase_of_step() const {
    if (shape_.inlined()) return Phase::input_dist;
    if (!shape_.looks_up) return Phase::lookup;
    return config_.async.mode == AsyncMode::patched ? Phase::output_dist : Phase::dense;
  }
  const PipelineShape& shape() const { return shape_; }
  Async config() const { return config_.async; }
  /// Returns whether batches are read as they are taken.
  bool reads() const { return batches_ && batches_->reads(); }
  /// Returns the processing units that the threads are bound to, as Affinity::processing_units; empty where they are
  /// not bound.
  std::string processing_units() const { return cores_ ? cores_->processing_units() : ""; }
  // These count from the latest start() on:
  PipelineCounts counts() const { return threads_ ? threads_->counts() : counts_; }
  const PatchCounts& patched() const { return patched_; }
  /// Returns the seconds of this thread in steps, without those in which it waited for batches or lookups.
  double main_seconds() const { return main_seconds_; }
  /// Returns the bytes of vectors, ids and weights of the batches in flight on this rank.
  std::int64_t buffered_bytes() const;

  /// These watch and return what the wire does to the vectors of all batches in flight (Wire).
  void watch_wire(bool on);
  kernels::VectorErrors wire_error(Direction direction) const;

 private:
  /// Holds a batch in flight.
  struct Place {
    Place(const comm::Communicator& parent, ShardedTables& tables, const placement::Plan& plan, const Case& config,
          const placement::Decisions& decided, Fault fault);

    comm::Communicator comm;
    Embedding embedding;
    Flight flight;
    StepInput read;                    ///< where batches are read as they are taken
    const StepInput* input = nullptr;  ///< that, or one in memory
    PhaseCosts costs;
    std::vector<std::unique_ptr<VectorPatch>> patches;  ///< by group, where stale rows are patched
  };

  void read(Ticket ticket) override;
  void distribute(Ticket ticket) override;
  std::int64_t agree(Ticket ticket, std::int64_t own) override;
  void look_up(Ticket ticket) override;
  void deliver(Ticket ticket) override;
  Ticket choose(Ticket own) override;

  void patch(Place& place, std::int64_t seen, std::int64_t now);
  void train(Place& place, DenseModel& dense);
  Place& place(Ticket ticket) { return *places_[static_cast<std::size_t>(ticket % shape_.places())]; }
  Place& current() { return place(ticket_); }

  const comm::Communicator& comm_;  ///< of the thread of the steps
  Case config_;
  Fault fault_;
  PipelineShape shape_;
  comm::Waiting waiting_;
  std::optional<comm::CoreSet> cores_;
  std::vector<std::unique_ptr<Place>> places_;
  std::vector<RowVersions> versions_;  ///< by group; where stale rows are patched
  std::optional<StepBatches> batches_;
  std::int64_t first_ = 0;
  std::int64_t steps_ = 0, end_ = 0;  ///< taken; there are
  Ticket ticket_ = -1;                ///< of the latest step
  std::int64_t staleness_ = 0;
  std::unique_ptr<StageThreads> threads_;
  PipelineCounts counts_;
  PatchCounts patched_;
  double main_seconds_ = 0.0, held_seconds_ = 0.0;  ///< of all steps; of the update of the latest
};

}  // namespace shardmark::workloads
