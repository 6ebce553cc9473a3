// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/mpi_neighbor.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <mutex>

#include "comm/collectives.hpp"
#include "comm/exchange/blocks.hpp"
#include "comm/exchange/type_per_peer.hpp"
#include "comm/mpi_error.hpp"

namespace shardmark::comm {
namespace {

template <typename Integer = std::int64_t>
std::vector<Integer> of_peers(const std::vector<int>& peers, const std::vector<std::int64_t>& by_rank) {
  std::vector<Integer> values;
  for (const int peer : peers) values.push_back(static_cast<Integer>(by_rank[peer]));
  return values;
}

/// Makes a graph once under a lock: Open MPI loads the component that makes graphs with the first one, without a lock,
/// while several threads may make theirs.
void open_topologies() {
  static std::once_flag opened;
  std::call_once(opened, [] {
    MPI_Comm graph = MPI_COMM_NULL;
    check_mpi(MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 0, nullptr, MPI_UNWEIGHTED, 0, nullptr, MPI_UNWEIGHTED,
                                             MPI_INFO_NULL, 0, &graph),
              "MPI_Dist_graph_create_adjacent");
    check_mpi(MPI_Comm_free(&graph), "MPI_Comm_free");
  });
}

}  // namespace

MpiNeighbor::MpiNeighbor(const Communicator& comm) : comm_(comm), is_peer_(comm.size(), 0) {}

MpiNeighbor::~MpiNeighbor() {
  if (graph_ != MPI_COMM_NULL && std::uncaught_exceptions() == 0) MPI_Comm_free(&graph_);
}

void MpiNeighbor::run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) {
  const Blocks blocks(comm_, route, send, receive, element_bytes);
  Setup& setup = setups_.of(route, [&](Setup& fresh) {
    fresh.exceeds_limit = let_graph_hold(route) > comm_.count_limit();
    fill(fresh, route);
  });
  blocks.copy_own(comm_.rank());
  if (setup.exceeds_limit) return run_in_runs(route, send, receive, element_bytes);

  if (setup.peers != peers_.size()) fill(setup, route);
  if (element_bytes != element_bytes_) {
    element_ = Datatype::element(element_bytes);
    element_bytes_ = element_bytes;
  }
  check_mpi(MPI_Neighbor_alltoallv(send, setup.send.counts.data(), setup.send.offsets.data(), element_.get(), receive,
                                   setup.receive.counts.data(), setup.receive.offsets.data(), element_.get(), graph_),
            "MPI_Neighbor_alltoallv", -1, route.send_total() * element_bytes);
}

std::int64_t MpiNeighbor::let_graph_hold(const Route& route) {
  std::array<std::int64_t, 2> most{graph_ == MPI_COMM_NULL ? 1 : 0,
                                   std::max(route.send_total(), route.receive_total())};
  auto& [grows, total] = most;
  for (int peer = 0; peer < comm_.size(); ++peer) {
    if (peer == comm_.rank() || is_peer_[peer] || route.send_counts()[peer] + route.receive_counts()[peer] == 0)
      continue;
    is_peer_[peer] = 1;
    grows = 1;
  }
  all_reduce(comm_, std::span<std::int64_t>(most), Reduce::max);
  if (grows == 1) make_graph();
  return total;
}

void MpiNeighbor::make_graph() {
  peers_.clear();
  for (int distance = 1; distance < comm_.size(); ++distance) {
    const int peer = rank_after(comm_, distance);
    if (is_peer_[peer]) peers_.push_back(peer);
  }
  if (graph_ != MPI_COMM_NULL) check_mpi(MPI_Comm_free(&graph_), "MPI_Comm_free");
  open_topologies();
  const int degree = static_cast<int>(peers_.size());
  check_mpi(MPI_Dist_graph_create_adjacent(comm_.get(), degree, peers_.data(), MPI_UNWEIGHTED, degree, peers_.data(),
                                           MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_),
            "MPI_Dist_graph_create_adjacent");
  check_mpi(MPI_Comm_set_errhandler(graph_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

void MpiNeighbor::fill(Setup& setup, const Route& route) const {
  setup.peers = peers_.size();
  setup.send.counts = of_peers<int>(peers_, route.send_counts());
  setup.send.offsets = of_peers<int>(peers_, route.send_offsets());
  setup.receive.counts = of_peers<int>(peers_, route.receive_counts());
  setup.receive.offsets = of_peers<int>(peers_, route.receive_offsets());
}

void MpiNeighbor::run_in_runs(const Route& route, const std::byte* send, std::byte* receive,
                              std::int64_t element_bytes) const {
  const auto limit = comm_.count_limit();
  const TypePerPeer outgoing(of_peers(peers_, route.send_counts()), of_peers(peers_, route.send_offsets()),
                             element_bytes, limit);
  const TypePerPeer incoming(of_peers(peers_, route.receive_counts()), of_peers(peers_, route.receive_offsets()),
                             element_bytes, limit);
  const std::vector<MPI_Aint> zeros(peers_.size(), 0);
  check_mpi(MPI_Neighbor_alltoallw(send, outgoing.counts.data(), zeros.data(), outgoing.types.data(), receive,
                                   incoming.counts.data(), zeros.data(), incoming.types.data(), graph_),
            "MPI_Neighbor_alltoallw", -1, route.send_total() * element_bytes);
}

}  // namespace shardmark::comm
