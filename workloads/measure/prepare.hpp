// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "workloads/batches/step_batches.hpp"
#include "workloads/measure/job.hpp"
#include "workloads/measure/timed_batches.hpp"
#include "workloads/step/pipeline/pipeline.hpp"
#include "workloads/step/training_step.hpp"

namespace shardmark::workloads {

/// Is a case that can take steps: one after the other by `flight`, or where it prepares them before they are taken by
/// `pipeline`.
struct ReadyCase {
  ReadyCase(const comm::Communicator& comm, ShardedTables& tables, DenseModel& model, const placement::Plan& plan,
            const Case& config, const placement::Decisions& decided, Fault fault)
      : embedding(comm, tables, plan, config, decided, fault), flight(embedding), dense(model) {}

  PhaseCosts step(const StepInput& input) { return training_step(flight, input, dense); }

  /// These do what Wire::watch and Wire::error do, for everything that takes its steps.
  void watch_wire(bool on);
  kernels::VectorErrors wire_error(Direction direction);

  Embedding embedding;
  Flight flight;
  DenseModel& dense;
  std::unique_ptr<Pipeline> pipeline = nullptr;
};

/// Holds step 0 of one case, which is about to be taken on fresh tables. Collective.
struct FirstStep {
  FirstStep(const comm::Communicator& comm, const RunOptions& options, const placement::Plan& plan, const Case& config,
            BatchSource& batches);

  StepInput input;
  std::unique_ptr<ShardedTables> tables;
  std::unique_ptr<DenseModel> dense;
  ReadyCase ready;
};

/// Holds the batches of a job, which all its cases share, the tables of one plan at a time, and the buffers of one case
/// of it at a time: those of a large batch need more memory than the tables do.
class Prepared {
 public:
  /// Reads the batches. Collective, as all functions are.
  Prepared(const Job& job, BatchSource& batches, const Status& status);

  const std::vector<StepInput>& inputs() const { return batches_.inputs; }
  const TimedBatches& batches() const { return batches_; }
  /// Returns the batches of steps that are timed.
  const StepBatches& step_batches() const { return step_batches_; }
  /// Returns the batches of steps that are trained: each is read.
  StepBatches new_batches() const { return StepBatches::all_read(batches_.inputs, job_.options, source_); }
  /// Returns the samples of the data after which they come again; absent: they never do.
  std::optional<std::int64_t> samples_of_data() const { return source_.samples(); }

  /// Makes the tables of a plan the ones in memory; returns true when they are new, without values.
  bool hold(std::size_t plan);
  ShardedTables& tables() { return *tables_; }
  /// Fills the tables that are held, and begins with the first weights of the dense model.
  void fill();

  /// Returns a case of the plan that is held, until another case is requested. One that was not the last allocates its
  /// buffers again, in its first steps; these must not be timed.
  ReadyCase& ready(std::size_t number);

 private:
  std::int64_t async_threads(std::size_t number);

  const Job& job_;
  BatchSource& source_;
  TimedBatches batches_;
  StepBatches step_batches_;
  std::vector<std::vector<Table>> decided_tables_;            ///< by plan, with what the first batch decides of them
  std::vector<std::optional<placement::Decisions>> decided_;  ///< by case, once for all
  std::size_t held_ = 0;
  std::unique_ptr<ShardedTables> tables_;
  std::unique_ptr<DenseModel> dense_;
  std::vector<std::int64_t> async_threads_;  ///< by case; 0: not chosen yet, or none
  std::size_t ready_number_ = 0;
  std::optional<ReadyCase> ready_;
};

}  // namespace shardmark::workloads
