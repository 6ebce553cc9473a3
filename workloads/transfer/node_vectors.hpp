// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/node_memory.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/transfer/transfer.hpp"

namespace shardmark::workloads {

/// Holds the vectors of a step and the gradients of its outputs in memory that all ranks reach, when these share a
/// node. Owners write each pooled embedding where its home reads it and read each gradient where its home has it:
/// nothing is packed, sent or received.
class NodeVectors {
 public:
  /// Makes the memory. Collective.
  explicit NodeVectors(const comm::Communicator& comm) : memory_(comm) {}

  /// Makes room for so many vector elements of this rank, and for the gradients of every rank, which all ranks know.
  /// Collective.
  void lay_out(std::int64_t vectors, const std::vector<std::int64_t>& gradients);

  const DeviceArray<float>& vectors() const { return vectors_; }      ///< of this rank
  const DeviceArray<float>& gradients() const { return gradients_; }  ///< of this rank
  /// Returns the gradients of the node: from the first gradient of its first rank on.
  const DeviceArray<float>& all_gradients() const { return all_gradients_; }
  const HomePlaces& homes() const { return homes_; }

  /// Waits until what every rank stored is seen by all. Collective.
  void node_barrier() { memory_.node_barrier(); }

 private:
  comm::NodeMemory memory_;
  DeviceArray<float> vectors_, gradients_, all_gradients_;
  HomePlaces homes_;
};

/// Makes RowTransfer::dense_partials by NodeVectors.
std::unique_ptr<Transfer> make_vectors_at_home(const TransferContext& context, NodeVectors& vectors);

}  // namespace shardmark::workloads
