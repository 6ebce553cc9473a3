// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/transfer/unique_rows/row_hop.hpp"

namespace shardmark::workloads {

/// Is the middle of a hierarchical lookup (HybridBackend's dual modulo): the ranks of a node send their requests to the
/// one among them that has the owner's local rank; it requests from the owner once what several of them want, hands the
/// rows on, and sums their gradients. So only equal local ranks communicate across nodes, and a row crosses between
/// them once per node. Within the node rows travel as fp32, so that each is rounded to a narrow wire type once in each
/// direction.
class NodeRows {
 public:
  /// Throws InputError where ranks cannot use it (node_dedup.hpp), whose places must order the row shards.
  NodeRows(const comm::Communicator& comm, comm::Exchange& exchange, placement::IdType ids, const RowShards& rows);
  NodeRows(const NodeRows&) = delete;
  NodeRows& operator=(const NodeRows&) = delete;

  /// Returns the hop from the homes to this rank.
  const RowHop& homes() const { return homes_; }
  /// Makes the hop from this rank to the owners.
  static RowHop owners(const comm::Communicator& comm, comm::Exchange& exchange, Wire& wire, const RowShards& rows);

  /// Returns what the ranks of the node request. Collective.
  PositionKeys request(const PositionKeys& positions, std::int64_t bound);

  /// Hands rows on as they came from the owners to the homes of the node. Collective.
  void hand_on(const RowHop& owners, const DeviceArray<float>& from_owners, const DeviceArray<float>& packed);
  /// Sums the gradients of the homes. packed: the homes' sums; to_owners: those of the node. Collective.
  void collect(const RowHop& owners, const DeviceArray<float>& packed, const DeviceArray<float>& to_owners);

 private:
  Wire fp32_;
  RowHop homes_;
  AnsweredRows asked_;

  // Of the current step, by position: what a rank of the node asks for.
  DeviceScratch<std::int64_t> offsets_{"shardmark::node_offsets"}, ids_{"shardmark::node_ids"};
  DeviceScratch<float> rows_handed_on_{"shardmark::node_rows"}, gradients_{"shardmark::node_gradients"};
  kernels::RowGradientsWorkspace<Execution> workspace_;
};

}  // namespace shardmark::workloads
