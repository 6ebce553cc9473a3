// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/oracle.hpp"
#include "workloads/batches/batch_source.hpp"
#include "workloads/step/pipeline/pipeline.hpp"
#include "workloads/step/training_step.hpp"

namespace shardmark {

/// The expected outputs of one feature: [bags], of which those that pool the same rows with the same weights share one
/// vector [dim]. So the outputs of popular rows, most of a batch with one id per bag, take little memory.
class ExpectedOutputs {
 public:
  /// Of samples `own` of the batch.
  ExpectedOutputs(reference::Oracle& oracle, const Batch& batch, std::int64_t feature, Pooling pooling, SampleRange own,
                  std::int64_t dim);

  std::int64_t bags() const { return std::ssize(vector_of_); }
  std::int64_t dim() const { return dim_; }
  std::span<const float> values(std::int64_t bag) const {
    return reference::row_of(expected_.values, vector_of_[bag], dim_);
  }
  std::span<const float> bounds(std::int64_t bag) const {
    return reference::row_of(expected_.bounds, vector_of_[bag], dim_);
  }

 private:
  std::int64_t dim_;
  std::vector<std::int64_t> vector_of_;  ///< [bags]
  reference::Expected expected_;
};

/// What the first steps must give, whatever the plan and however the data move: from the reference, run once.
class Expectation {
 public:
  /// Runs `steps` whole steps serially (default: options.checked_steps), and keeps the outputs of this rank's samples.
  /// The bounds are those of cases whose rows travel in these types. most_stale: outputs are kept of tables that lack
  /// the updates of up to so many steps, which pipelines may look up.
  Expectation(const Communicator& comm, const RunOptions& options, BatchSource& batches, WireTypes wire = {},
              std::optional<std::int64_t> steps = {}, std::int64_t most_stale = 0);

  std::int64_t steps() const { return std::ssize(outputs_); }
  /// stale: updates that the rows lack.
  const ExpectedOutputs& output(std::int64_t step, std::int64_t feature, std::int64_t stale = 0) const {
    return outputs_[step].at(stale)[feature];
  }
  /// After the last step.
  std::span<const reference::TouchedTable> parts(std::int64_t table) const { return oracle_.parts(table); }

 private:
  reference::Oracle oracle_;
  std::vector<std::vector<std::vector<ExpectedOutputs>>> outputs_;  ///< by step, updates that are lacking, feature
};

/// Fills the tables of the flight, runs the expected steps on `inputs` and counts the values that differ by more than
/// their bound: outputs of every step, then rows and optimizer state, and rows that changed although no id asked for
/// them. Collective; the count is that of all ranks.
std::int64_t count_wrong(const Communicator& comm, const Expectation& expectation, const RowValues& initial,
                         Flight& flight, const std::vector<StepInput>& inputs);

/// The same of steps of a pipeline: outputs are those of the version of the tables that each lookup saw, as recorded.
std::int64_t count_wrong(const Communicator& comm, const Expectation& expectation, const RowValues& initial,
                         Pipeline& pipeline, const std::vector<StepInput>& inputs);

}  // namespace shardmark
