// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "workloads/batches/batch_source.hpp"
#include "workloads/batches/step_input.hpp"

namespace shardmark::workloads {

/// Gives the batches that steps take, by number: some that are in memory, in turns, or each read when it is requested,
/// beyond the end of the data from their beginning again.
class StepBatches {
 public:
  /// Takes at least one batch in memory; these and the other arguments outlive the object and its copies.
  StepBatches(const std::vector<StepInput>& in_memory) : in_memory_(&in_memory) {}
  /// Reads batches as options.data says.
  StepBatches(const std::vector<StepInput>& in_memory, const RunOptions& options, BatchSource& source);
  /// Returns batches each of which is read, so that no step sees one again before all have been seen.
  static StepBatches all_read(const std::vector<StepInput>& in_memory, const RunOptions& options, BatchSource& source);

  bool reads() const { return source_ != nullptr; }

  /// Returns batch `number`; one that is read is put into `own`. Collective; threads may call it at the same time, each
  /// with its own comm.
  const StepInput& get(const comm::Communicator& comm, std::int64_t number, StepInput& own) const;

 private:
  const std::vector<StepInput>* in_memory_;
  const RunOptions* options_ = nullptr;
  BatchSource* source_ = nullptr;  ///< null: nothing is read
};

}  // namespace shardmark::workloads
