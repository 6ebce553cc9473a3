// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/mpi_alltoallv.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>

#include "comm/device_memory.hpp"
#include "comm/exchange/type_per_peer.hpp"
#include "comm/messages.hpp"
#include "comm/mpi_error.hpp"
#include "comm/waiting.hpp"

namespace shardmark::comm {
namespace {

void assign(std::vector<int>& ints, const std::vector<std::int64_t>& counts) {
  ints.assign(counts.begin(), counts.end());
}

}  // namespace

MpiAlltoallv::MpiAlltoallv(const Communicator& comm) : comm_(comm) {}

void MpiAlltoallv::run(const Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) {
  if (route.size() != comm_.size()) throw std::invalid_argument("mpi_alltoallv: a route of another number of ranks");
  // Of GPUs, Open MPI reads messages and blocking collectives alone.
  if (waiting() == Waiting::messages || (reads_gpus() && waiting() == Waiting::sleep))
    return run_by_messages(route, send, receive, element_bytes);
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
    // Open MPI takes equal pointers for MPI_IN_PLACE, and those of two empty parts of one array may be equal.
    static std::byte nothing{};
    if (route.send_total() == 0)
      send = &nothing;
    else if (route.receive_total() == 0)
      receive = &nothing;
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

void MpiAlltoallv::run_by_messages(const Route& route, const std::byte* send, std::byte* receive,
                                   std::int64_t element_bytes) const {
  const auto outgoing = [&](int rank) {
    return std::span(send + route.send_offsets()[rank] * element_bytes,
                     static_cast<std::size_t>(route.send_counts()[rank] * element_bytes));
  };
  const auto incoming = [&](int rank) {
    return std::span(receive + route.receive_offsets()[rank] * element_bytes,
                     static_cast<std::size_t>(route.receive_counts()[rank] * element_bytes));
  };
  Messages messages(comm_);
  for (int step = 1; step < comm_.size(); ++step) {
    const int from = (comm_.rank() + comm_.size() - step) % comm_.size(), to = (comm_.rank() + step) % comm_.size();
    messages.receive(incoming(from), from);
    messages.send(outgoing(to), to);
  }
  const std::span<const std::byte> own = outgoing(comm_.rank());
  if (reads_gpus())
    copy_bytes(incoming(comm_.rank()).data(), own.data(), std::ssize(own));
  else
    std::ranges::copy(own, incoming(comm_.rank()).begin());
  messages.wait();
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

}  // namespace shardmark::comm
