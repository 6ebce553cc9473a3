// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/unique_rows/node_rows.hpp"

#include <algorithm>

#include "kernels/route/bag_lengths.hpp"
#include "workloads/transfer/unique_rows/node_dedup.hpp"

namespace shardmark::workloads {
namespace {

/// The row shards of the ranks with a local rank: they are contiguous.
RowHop::Range of_local_rank(const comm::Communicator& comm, const RowShards& rows, int local) {
  RowHop::Range range{0, 0};
  bool first = true;
  for (int r = 0; r < comm.size(); ++r) {
    if (local_rank(comm, r) != local) continue;
    const auto own = rows.of_rank(r);
    if (own.first == own.second) continue;
    if (first) range.first = own.first;
    range.second = own.second;
    first = false;
  }
  return range;
}

RowHop stage_of_homes(const comm::Communicator& comm, comm::Exchange& exchange, Wire& wire, const RowShards& rows) {
  require_node_dedup(comm);
  std::vector<RowHop::Range> requested;
  std::vector<bool> askers;
  for (int r = 0; r < comm.size(); ++r) {
    askers.push_back(comm.node_of(r) == comm.node_of(comm.rank()));
    requested.push_back(askers.back() ? of_local_rank(comm, rows, local_rank(comm, r)) : RowHop::Range{0, 0});
  }
  return RowHop(exchange, wire, rows, requested, of_local_rank(comm, rows, comm.node_rank()), askers);
}

}  // namespace

NodeRows::NodeRows(const comm::Communicator& comm, comm::Exchange& exchange, placement::IdType ids,
                   const RowShards& rows)
    : fp32_(WireTypes{}, ids), homes_(stage_of_homes(comm, exchange, fp32_, rows)), asked_(rows, homes_) {}

RowHop NodeRows::owners(const comm::Communicator& comm, comm::Exchange& exchange, Wire& wire, const RowShards& rows) {
  std::vector<RowHop::Range> requested;
  std::vector<bool> askers;
  for (int r = 0; r < comm.size(); ++r) {
    askers.push_back(local_rank(comm, r) == comm.node_rank());
    requested.push_back(askers.back() ? rows.of_rank(r) : RowHop::Range{0, 0});
  }
  return RowHop(exchange, wire, rows, requested, rows.of_rank(comm.rank()), askers);
}

PositionKeys NodeRows::request(const PositionKeys& positions, std::int64_t bound) {
  homes_.request(positions, bound);
  const auto ids = ids_.first(homes_.held_rows()), offsets = offsets_.first(homes_.held_rows() + 1);
  homes_.receive_ids(ids);
  kernels::count_up(Execution(), offsets);
  asked_.list(offsets, ids);
  return asked_.requested_keys();
}

void NodeRows::hand_on(const RowHop& owners, const DeviceArray<float>& from_owners, const DeviceArray<float>& packed) {
  const auto handed_on = rows_handed_on_.first(homes_.held_elements());
  asked_.repeat(owners.requested(), from_owners, handed_on);
  homes_.send_rows(handed_on, packed);
}

void NodeRows::collect(const RowHop& owners, const DeviceArray<float>& packed, const DeviceArray<float>& to_owners) {
  const auto gradients = gradients_.first(homes_.held_elements());
  homes_.return_gradients(packed, gradients);
  kernels::pack_row_gradients<Execution>(Execution(),
                                         {owners.requested().unique(), asked_.vector_begin(), {}, gradients},
                                         owners.requested().packed(), workspace_, to_owners);
}

}  // namespace shardmark::workloads
