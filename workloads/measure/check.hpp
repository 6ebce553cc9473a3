// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reference/oracle.hpp"
#include "workloads/batches/step_batches.hpp"
#include "workloads/measure/dense/expected_dense.hpp"
#include "workloads/measure/wrong_values.hpp"
#include "workloads/step/pipeline/pipeline.hpp"
#include "workloads/step/training_step.hpp"

namespace shardmark::workloads {

/// Returns whether what is right depends on how steps were taken: their order, or how stale the rows are that a dense
/// model sees.
bool follows_case(const RunOptions& options, const Async& async);

/// Holds what the first steps must give, whatever the plan and however the data move: from the reference, run once.
class Expectation {
 public:
  /// Runs `steps` whole steps serially (default: options.checked_steps), and keeps the outputs of this rank's samples.
  /// The bounds are those of cases whose rows travel in these types. most_stale: outputs are kept of tables that lack
  /// the updates of up to async.most_stale() steps, which pipelines may look up. Where a step depends on how those
  /// before it were taken (follows_case), none is run until follow() is called. math: of the dense model. Collective;
  /// comm, options and batches must outlive the object.
  Expectation(const comm::Communicator& comm, const RunOptions& options, BatchSource& batches, WireTypes wire = {},
              std::optional<std::int64_t> steps = {}, const Async& async = {}, DenseMath math = DenseMath::fp32);
  /// Takes the wire, the pipeline and the math of a case.
  Expectation(const comm::Communicator& comm, const RunOptions& options, BatchSource& batches, const Case& config,
              std::optional<std::int64_t> steps = {})
      : Expectation(comm, options, batches, config.movement.wire, steps, config.async, config.dense_math) {}

  bool follows() const { return follows_; }
  /// Runs the next step, that of batch number `batch`, whose rows lack `stale` updates. Collective.
  void follow(std::int64_t batch, std::int64_t stale);

  std::int64_t steps() const { return std::ssize(outputs_); }
  /// Returns an expected output. stale: number of updates that the rows lack.
  const ExpectedOutputs& output(std::int64_t batch, std::int64_t feature, std::int64_t stale = 0) const {
    return outputs_[batch].at(stale)[feature];
  }
  /// Returns the parts of a table after the last step.
  std::span<const reference::TouchedTable> parts(std::int64_t table) const { return oracle_.parts(table); }
  /// Returns which keys of a table have rows then; null where rows do not come and go.
  const reference::DynamicTable* dynamic(std::int64_t table) const { return oracle_.dynamic(table); }
  /// Returns the types in which its rows travel.
  WireTypes wire() const { return wire_; }
  const std::string& name_of_feature(std::int64_t f) const { return options_.workload.features[f].name; }
  /// Returns the expected dense model; null without a dense model.
  const ExpectedDense* dense() const { return dense_.get(); }
  /// Counts, by table or weights, the values that the check cannot test, because their bound is no smaller than the
  /// root mean square of what the steps changed. An adaptive optimizer makes a whole step of a gradient that is nothing
  /// but rounding.
  std::map<std::string, std::int64_t> unjudged() const;

 private:
  void look_up(const Batch& batch, std::int64_t number);

  const comm::Communicator& comm_;
  const RunOptions& options_;
  BatchSource& batches_;
  SampleRange own_;
  WireTypes wire_;
  std::int64_t most_stale_, step_ = 0;  ///< run so far
  bool follows_;
  std::vector<bool> taken_;  ///< by batch
  reference::Oracle oracle_;
  std::unique_ptr<ExpectedDense> dense_;
  std::vector<std::vector<std::vector<ExpectedOutputs>>> outputs_;  ///< by batch, updates that are lacking, feature
};

/// Fills the tables of the flight, resets the dense model, runs the expected steps on `inputs` and compares outputs,
/// logits and loss of every step, then rows, weights and optimizer state, and rows that changed although no id named
/// them. Collective; the result is that of all ranks.
WrongValues find_wrong(const comm::Communicator& comm, const Expectation& expectation, const RowValues& initial,
                       Flight& flight, DenseModel& dense, const std::vector<StepInput>& inputs);

/// Does the same for steps of a pipeline: outputs are those of the version of the tables that each lookup saw, as
/// recorded.
WrongValues find_wrong(const comm::Communicator& comm, Expectation& expectation, const RowValues& initial,
                       Pipeline& pipeline, DenseModel& dense, const StepBatches& batches);

}  // namespace shardmark::workloads
