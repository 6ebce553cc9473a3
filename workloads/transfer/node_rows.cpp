// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/node_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace shardmark {
namespace {

int local_rank(const Communicator& comm, int rank) {
  int before = 0;
  for (int r = 0; r < rank; ++r) before += comm.node_of(r) == comm.node_of(rank) ? 1 : 0;
  return before;
}

/// The row shards of the ranks with a local rank: they are contiguous.
RowStage::Range of_local_rank(const Communicator& comm, const RowShards& rows, int local) {
  RowStage::Range range{0, 0};
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

void require_nodes(const Communicator& comm) {
  for (int r = 0; r < comm.size(); ++r)
    if (comm.nodes() * comm.node_size() != comm.size() || local_rank(comm, r) >= comm.node_size())
      throw InputError(fmt::format("dedup node: {} ranks on {} nodes are not equally many on each; use dedup local",
                                   comm.size(), comm.nodes()));
  if (comm.nodes() < 2 || comm.node_size() < 2)
    throw InputError(
        fmt::format("dedup node: needs several nodes with several ranks each, not {} with {}; use dedup "
                    "local",
                    comm.nodes(), comm.node_size()));
}

RowStage stage_of_homes(const Communicator& comm, Exchange& exchange, Wire& wire, const RowShards& rows) {
  require_nodes(comm);
  std::vector<RowStage::Range> asked;
  std::vector<bool> askers;
  for (int r = 0; r < comm.size(); ++r) {
    askers.push_back(comm.node_of(r) == comm.node_of(comm.rank()));
    asked.push_back(askers.back() ? of_local_rank(comm, rows, local_rank(comm, r)) : RowStage::Range{0, 0});
  }
  return RowStage(exchange, wire, rows, asked, of_local_rank(comm, rows, comm.node_rank()), askers);
}

}  // namespace

NodeRows::NodeRows(const Communicator& comm, Exchange& exchange, Wire& wire, const RowShards& rows)
    : rows_(rows), homes_(stage_of_homes(comm, exchange, wire, rows)) {}

std::vector<int> NodeRows::places(const Communicator& comm) {
  std::vector<std::pair<int, int>> order;
  for (int r = 0; r < comm.size(); ++r) order.emplace_back(local_rank(comm, r), r);
  std::ranges::sort(order);
  std::vector<int> places(order.size());
  for (std::size_t p = 0; p < order.size(); ++p)
    places[static_cast<std::size_t>(order[p].second)] = static_cast<int>(p);
  return places;
}

RowStage NodeRows::owners(const Communicator& comm, Exchange& exchange, Wire& wire, const RowShards& rows) {
  std::vector<RowStage::Range> asked;
  std::vector<bool> askers;
  for (int r = 0; r < comm.size(); ++r) {
    askers.push_back(local_rank(comm, r) == comm.node_rank());
    asked.push_back(askers.back() ? rows.of_rank(r) : RowStage::Range{0, 0});
  }
  return RowStage(exchange, wire, rows, asked, rows.of_rank(comm.rank()), askers);
}

ConstDeviceArray<std::int64_t> NodeRows::request(const ConstDeviceArray<std::int64_t>& keys, std::int64_t peak) {
  const Execution exec;
  homes_.request(keys, peak);
  positions_ = homes_.held_rows();
  const auto ids = ids_.first(positions_);
  homes_.receive_ids(ids);
  const auto offsets = offsets_.first(positions_ + 1);
  Kokkos::parallel_for(
      "shardmark::node_offsets", kernels::static_range(exec, positions_ + 1),
      KOKKOS_LAMBDA(const std::int64_t i) { offsets(i) = i; });
  blocks_.host.clear();
  std::int64_t first = 0, element = 0;
  auto shard = homes_.held().first;
  for (const std::int64_t rows : homes_.held_counts()) {
    const RowShard& of = rows_.shards[static_cast<std::size_t>(shard)];
    blocks_.host.push_back(
        {.first_bag = first, .bags = rows, .first_key = of.first_key, .gradient = element, .gradient_stride = of.dim});
    first += rows;
    element += rows * of.dim;
    if (++shard == homes_.held().second) shard = homes_.held().first;
  }
  const auto node_keys = keys_.first(positions_);
  kernels::expand_positions(exec, blocks_.array(), ConstDeviceArray<std::int64_t>(offsets), ids, node_keys,
                            gradient_offsets_.first(positions_));
  return node_keys;
}

/// Of each block of positions: its rows among those that came from the owners.
void NodeRows::list_blocks(const RowStage& owners, const DeviceArray<float>& from_owners) {
  lookups_.host.clear();
  packed_rows_.host.clear();
  for (std::int64_t s = 0; s < std::ssize(rows_.shards); ++s) {
    const RowShard& shard = rows_.shards[static_cast<std::size_t>(s)];
    packed_rows_.host.push_back({shard.first_key, shard.dim, owners.first_row(s), owners.packed_begin(s)});
  }
  auto shard = homes_.held().first;
  for (const kernels::GradientBlock& block : blocks_.host) {
    lookups_.host.push_back({.first_bag = block.first_bag,
                             .bags = block.bags,
                             .rows = from_owners.data() + owners.packed_begin(shard),
                             .value_type = ValueType::fp32,
                             .dim = block.gradient_stride,
                             .output = block.gradient,
                             .output_stride = block.gradient_stride,
                             .pooling = Pooling::sum});
    if (++shard == homes_.held().second) shard = homes_.held().first;
  }
}

void NodeRows::hand_on(const RowStage& owners, const DeviceArray<float>& from_owners,
                       const DeviceArray<float>& packed) {
  const Execution exec;
  list_blocks(owners, from_owners);
  const auto indices = indices_.first(positions_);
  const auto unique = owners.unique();
  const auto packed_rows = packed_rows_.array();
  const auto shards = static_cast<std::int64_t>(packed_rows.extent(0));
  Kokkos::parallel_for(
      "shardmark::node_indices", kernels::static_range(exec, positions_), KOKKOS_LAMBDA(const std::int64_t u) {
        if (u >= unique.count()) return;
        const auto first_key = [&](std::int64_t s) { return packed_rows(s).first_key; };
        const std::int64_t row = u - packed_rows(kernels::last_at_most(shards, unique.key(u), first_key)).first_row;
        for (std::int64_t i = unique.begin(u); i < unique.begin(u + 1); ++i) indices(unique.position(i)) = row;
      });
  const auto handed_on = rows_handed_on_.first(homes_.held_elements());
  kernels::pooled_lookup(exec, lookups_.array(), ConstDeviceArray<std::int64_t>(offsets_.first(positions_ + 1)),
                         indices, ConstDeviceArray<float>(), handed_on);
  exec.fence("shardmark: rows are handed on");
  homes_.send_rows(handed_on, packed);
}

void NodeRows::collect(const RowStage& owners, const DeviceArray<float>& packed, const DeviceArray<float>& to_owners) {
  const Execution exec;
  const auto gradients = gradients_.first(homes_.held_elements());
  homes_.return_gradients(packed, gradients);
  kernels::pack_row_gradients<Execution>(
      exec,
      kernels::row_gradients<Execution>(exec, owners.unique(), gradient_offsets_.first(positions_),
                                        ConstDeviceArray<float>(), gradients),
      {packed_rows_.array(), rows_.largest_dim}, workspace_, to_owners);
  exec.fence("shardmark: gradients of the node are sent");
}

}  // namespace shardmark
