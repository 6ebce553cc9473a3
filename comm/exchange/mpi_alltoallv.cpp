// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/mpi_alltoallv.hpp"

#include <stdexcept>

#include "comm/exchange/type_per_peer.hpp"
#include "comm/mpi_error.hpp"
#include "comm/waiting.hpp"

namespace shardmark {
namespace {

void assign(std::vector<int>& ints, const std::vector<std::int64_t>& counts) {
  ints.assign(counts.begin(), counts.end());
}

}  // namespace

MpiAlltoallv::MpiAlltoallv(const Communicator& comm) : comm_(comm) {}

void MpiAlltoallv::run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) {
  if (route.size() != comm_.size()) throw std::invalid_argument("mpi_alltoallv: a route of another number of ranks");
  if (exceeds_limit(route)) return run_in_runs(route, send, receive, element_bytes);

  if (element_bytes != element_bytes_) {
    element_ = Datatype::element(element_bytes);
    element_bytes_ = element_bytes;
  }
  assign(send_counts_, route.send_counts());
  assign(receive_counts_, route.receive_counts());
  assign(send_offsets_, route.send_offsets());
  assign(receive_offsets_, route.receive_offsets());
  if (waiting() == Waiting::sleep) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ialltoallv(send, send_counts_.data(), send_offsets_.data(), element_.get(), receive,
                             receive_counts_.data(), receive_offsets_.data(), element_.get(), comm_.get(), &request),
              "MPI_Ialltoallv", -1, route.send_total() * element_bytes);
    return check_mpi(wait_all({&request, 1}, MPI_STATUSES_IGNORE), "MPI_Ialltoallv", -1,
                     route.send_total() * element_bytes);
  }
  check_mpi(MPI_Alltoallv(send, send_counts_.data(), send_offsets_.data(), element_.get(), receive,
                          receive_counts_.data(), receive_offsets_.data(), element_.get(), comm_.get()),
            "MPI_Alltoallv", -1, route.send_total() * element_bytes);
}

bool MpiAlltoallv::exceeds_limit(const Route& route) {
  if (route.bound() <= comm_.count_limit()) return false;
  return exceeds_limit_.of(route, [&](bool& fresh) { fresh = largest_total(comm_, route) > comm_.count_limit(); });
}

void MpiAlltoallv::run_in_runs(const Route& route, const std::byte* send, std::byte* receive,
                               std::int64_t element_bytes) const {
  const auto limit = comm_.count_limit();
  const TypePerPeer outgoing(route.send_counts(), route.send_offsets(), element_bytes, limit);
  const TypePerPeer incoming(route.receive_counts(), route.receive_offsets(), element_bytes, limit);
  const std::vector<int> zeros(route.send_counts().size(), 0);
  check_mpi(MPI_Alltoallw(send, outgoing.counts.data(), zeros.data(), outgoing.types.data(), receive,
                          incoming.counts.data(), zeros.data(), incoming.types.data(), comm_.get()),
            "MPI_Alltoallw", -1, route.send_total() * element_bytes);
}

}  // namespace shardmark
