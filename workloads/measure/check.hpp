// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "reference/oracle.hpp"
#include "workloads/batches/batch_source.hpp"
#include "workloads/measure/dense/expected_dense.hpp"
#include "workloads/step/training_step.hpp"

namespace shardmark {

/// What the first steps must give, whatever the plan and however the data move: from the reference, run once.
class Expectation {
 public:
  /// Runs `steps` whole steps serially (default: options.checked_steps), and keeps the outputs of this rank's samples.
  /// The bounds are those of cases whose rows travel in these types. Collective; the options must outlive the object.
  Expectation(const Communicator& comm, const RunOptions& options, BatchSource& batches, WireTypes wire = {},
              std::optional<std::int64_t> steps = {});

  std::int64_t steps() const { return std::ssize(outputs_); }
  const ExpectedOutputs& output(std::int64_t step, std::int64_t feature) const { return outputs_[step][feature]; }
  /// After the last step.
  std::span<const reference::TouchedTable> parts(std::int64_t table) const { return oracle_.parts(table); }
  /// Null without a dense model.
  const ExpectedDense* dense() const { return dense_.get(); }

 private:
  std::vector<ExpectedOutputs> look_up(const RunOptions& options, const Batch& batch, SampleRange own);

  reference::Oracle oracle_;
  std::unique_ptr<ExpectedDense> dense_;
  std::vector<std::vector<ExpectedOutputs>> outputs_;  ///< by step and feature
};

/// Fills the tables of the flight, resets the dense model, runs the expected steps on `inputs` and counts the values
/// that differ by more than their bound: outputs, logits and loss of every step, then rows, weights and optimizer
/// state, and rows that changed although no id asked for them. Collective; the count is that of all ranks.
std::int64_t count_wrong(const Communicator& comm, const Expectation& expectation, const RowValues& initial,
                         Flight& flight, DenseModel& dense, const std::vector<StepInput>& inputs);

}  // namespace shardmark
