// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/unique_rows/choose_dedup.hpp"

#include <algorithm>

#include "comm/collectives.hpp"

namespace shardmark {
namespace {

/// Bytes from each node to others, when this rank asks the owners for these rows.
std::vector<std::int64_t> sent_by_nodes(const Communicator& comm, const HomeRows& rows, const DistinctRows& asked,
                                        const Wire& wire) {
  const std::int64_t id_bytes = bytes_of(wire.ids());
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(comm.nodes()));
  const int home = comm.node_of(comm.rank());
  for (std::int64_t s = 0; s < rows.shards(); ++s) {
    const RowShard& shard = rows.shard(s);
    const int owner = comm.node_of(shard.rank);
    if (owner == home) continue;
    bytes[home] += asked.rows(s) * (id_bytes + row_bytes(wire.type(Direction::backward), shard.dim));
    bytes[owner] += asked.rows(s) * row_bytes(wire.type(Direction::forward), shard.dim);
  }
  return bytes;
}

}  // namespace

Dedup cheaper_between_nodes(const Communicator& comm, Lane& lane, const HomeRows& rows, const Wire& wire) {
  auto local = sent_by_nodes(comm, rows, rows.asked(), wire);
  auto node = sent_by_nodes(comm, rows, rows.held().asked(), wire);
  lane.run([&] {
    all_reduce(comm, std::span<std::int64_t>(local), Reduce::sum);
    all_reduce(comm, std::span<std::int64_t>(node), Reduce::sum);
  });
  return 5 * std::ranges::max(node) <= 4 * std::ranges::max(local) && std::ranges::max(local) > 0 ? Dedup::node
                                                                                                  : Dedup::local;
}

}  // namespace shardmark
