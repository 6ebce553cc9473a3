// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comm/datatype.hpp"
#include "comm/exchange/exchange.hpp"
#include "comm/exchange/per_route.hpp"

namespace shardmark::comm {

/// Calls MPI_Neighbor_alltoallv over the pairs of ranks between which something travels in either direction, so that a
/// route and its inverse share a graph. A route's first run costs one all-reduce, which finds the largest total of any
/// rank and whether some rank has a peer outside the graph; if one has, the graph is made anew
/// (MPI_Dist_graph_create_adjacent) and keeps the peers of before. Where a count or displacement of any rank exceeds
/// the count limit, it calls MPI_Neighbor_alltoallw.
class MpiNeighbor : public Exchange {
 public:
  explicit MpiNeighbor(const Communicator& comm);
  ~MpiNeighbor() override;

  void run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override;

 private:
  /// Holds counts and offsets of elements in one buffer, by peer.
  struct Side {
    std::vector<int> counts, offsets;
  };
  struct Setup {
    bool exceeds_limit;
    std::size_t peers;  ///< of the graph for which it was made; a graph only grows
    Side send, receive;
  };

  /// Adds the peers of `route` to the graph. Returns the largest total of any rank.
  std::int64_t let_graph_hold(const Route& route);
  void make_graph();
  void fill(Setup& setup, const Route& route) const;
  void run_in_runs(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) const;

  const Communicator& comm_;
  MPI_Comm graph_ = MPI_COMM_NULL;
  std::vector<int> peers_;  ///< neighbours in the graph, in both directions, by distance
  std::vector<char> is_peer_;
  PerRoute<Setup> setups_;
  Datatype element_;
  std::int64_t element_bytes_ = 0;
};

}  // namespace shardmark::comm
