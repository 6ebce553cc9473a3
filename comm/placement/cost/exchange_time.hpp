// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "comm/placement/cost/machine_model.hpp"

namespace shardmark::placement {

/// Ranks that exchange, `per_node` neighbours by number on each node.
struct RankLayout {
  int ranks = 1;
  int per_node = 1;

  int nodes() const { return (ranks + per_node - 1) / per_node; }
  int node_of(int rank) const { return rank / per_node; }
  /// Ranks of that node.
  int on_node(int node) const { return std::min(per_node, ranks - node * per_node); }
};

/// The messages of one rank in an exchange of b bytes with each other rank: `inside` of `inside_size` b, `between` of
/// `between_size` b. P ranks, L per node, N nodes:
///   linear, pairwise, persistent, mpi_alltoallv, ...   L - 1 of b, P - L of b
///   bruck:r    (r - 1) ceil(log_r P) of P / r b; all of them between nodes where there are several
///   node_aware L - 1 of N b, N - 1 of L b (one node: as linear)
///   node_leader:k   of a leader: L - 1 of b, and 2 (L / k - 1) of (P - L) b from and to its members; (N - 1) k of
///                   (L / k)^2 b
struct MessagesOfRank {
  double inside = 0.0, inside_size = 1.0;
  double between = 0.0, between_size = 1.0;
};
MessagesOfRank messages_of(std::string_view exchange, const RankLayout& layout);

/// Seconds of an exchange in which rank r sends bytes[r] to each other rank: of the rank whose messages out, or in,
/// take longest, and at least what the node takes that sends or receives most, whose ranks share node_bytes_per_second.
/// As long as that in which rank r receives bytes[r] from each other. `auto`: the fastest of those that the machine
/// knows.
double exchange_seconds(const RankLayout& layout, const MachineModel& machine, std::string_view exchange,
                        std::span<const double> bytes);

/// The same where only ranks of one node exchange, bytes[r] each with its neighbours; and where only the ranks with the
/// same number on their nodes do.
double node_exchange_seconds(const RankLayout& layout, const MachineModel& machine, std::string_view exchange,
                             std::span<const double> bytes);
double rail_exchange_seconds(const RankLayout& layout, const MachineModel& machine, std::string_view exchange,
                             std::span<const double> bytes);

/// Seconds of an all-reduce of so many bytes over all ranks: the faster of a ring, 2 (P - 1) steps of bytes / P, of
/// which several nodes have 2 (L - 1) of bytes / L inside and 2 (N - 1) of bytes / P between them; and of a tree,
/// 2 log2 P steps of all bytes.
double all_reduce_seconds(const RankLayout& layout, const MachineModel& machine, double bytes);

/// The bytes of the busiest rank at the speed of large messages, without any latency: the least that the links allow.
double link_seconds(const RankLayout& layout, const MachineModel& machine, std::string_view exchange,
                    std::span<const double> bytes);

}  // namespace shardmark::placement
