// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/oracle.hpp"
#include "workloads/batches/batch_source.hpp"
#include "workloads/step/training_step.hpp"

namespace shardmark {

/// What the first steps must give, whatever the plan and however the data move: from the reference, run once.
class Expectation {
 public:
  /// Runs `steps` whole steps serially (default: options.checked_steps), and keeps the outputs of this rank's samples.
  /// The bounds are those of cases whose rows travel in these types.
  Expectation(const Communicator& comm, const RunOptions& options, BatchSource& batches, WireTypes wire = {},
              std::optional<std::int64_t> steps = {});

  std::int64_t steps() const { return std::ssize(outputs_); }
  const reference::Expected& output(std::int64_t step, std::int64_t feature) const { return outputs_[step][feature]; }
  /// After the last step.
  const reference::TouchedTable& table(std::int64_t number) const { return oracle_.table(number); }

 private:
  reference::Oracle oracle_;
  std::vector<std::vector<reference::Expected>> outputs_;
};

/// Fills the tables of the flight, runs the expected steps on `inputs` and counts the values that differ by more than
/// their bound: outputs of every step, then rows and optimizer state, and rows that changed although no id asked for
/// them. Collective; the count is that of all ranks.
std::int64_t count_wrong(const Communicator& comm, const Expectation& expectation, const RowValues& initial,
                         Flight& flight, const std::vector<StepInput>& inputs);

}  // namespace shardmark
