// SPDX-License-Identifier: Apache-2.0
// A route's bound is no size: what exchanges allocate and which calls they make follows from what is really sent.
// MPI's profiling interface tells both.
#include <gtest/gtest.h>

#include "comm/collectives.hpp"
#include "comm/exchange/named_exchange.hpp"
#include "comm/test/some_calibration.hpp"

namespace {
std::int64_t window_bytes = 0;
int window_calls = 0, calls_of_types = 0, agreements = 0;
}  // namespace

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* memory, MPI_Win* window) {
  window_bytes = size;
  ++window_calls;
  return PMPI_Win_allocate(size, unit, info, comm, memory, window);
}
int MPI_Alltoallw(const void* send, const int* counts, const int* offsets, const MPI_Datatype* types, void* receive,
                  const int* received_counts, const int* received_offsets, const MPI_Datatype* received_types,
                  MPI_Comm comm) {
  ++calls_of_types;
  return PMPI_Alltoallw(send, counts, offsets, types, receive, received_counts, received_offsets, received_types, comm);
}
int MPI_Neighbor_alltoallw(const void* send, const int* counts, const MPI_Aint* offsets, const MPI_Datatype* types,
                           void* receive, const int* received_counts, const MPI_Aint* received_offsets,
                           const MPI_Datatype* received_types, MPI_Comm comm) {
  ++calls_of_types;
  return PMPI_Neighbor_alltoallw(send, counts, offsets, types, receive, received_counts, received_offsets,
                                 received_types, comm);
}
int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  ++agreements;
  return PMPI_Allreduce(send, receive, count, type, op, comm);
}

namespace shardmark::comm {
namespace {

/// The route on which rank r sends counts[r][p] elements to rank p.
Route route_of(const Communicator& comm, const std::vector<std::vector<std::int64_t>>& counts, std::int64_t bound) {
  std::vector<std::int64_t> received;
  for (const auto& of_rank : counts) received.push_back(of_rank[comm.rank()]);
  return Route(counts[comm.rank()], received, bound);
}

/// All send all the same.
Route even_route(const Communicator& comm, std::int64_t count, std::int64_t bound) {
  return route_of(comm, std::vector(comm.size(), std::vector<std::int64_t>(comm.size(), count)), bound);
}

/// Runs it and checks what comes.
void carry(const Communicator& comm, Exchange& exchange, const Route& route) {
  std::vector<int> send(route.send_total(), comm.rank()), received(route.receive_total(), -1), expected;
  for (int rank = 0; rank < comm.size(); ++rank) expected.insert(expected.end(), route.receive_counts()[rank], rank);
  run(exchange, route, std::span<const int>(send), std::span(received));
  EXPECT_EQ(received, expected);
}

TEST(RouteBound, IsNotTheSizeOfWindows) {
  const Communicator comm(MPI_COMM_WORLD);
  const NamedExchange rma_put = exchange_named("rma_put");
  if (const auto reason = rma_put.unusable(comm); !reason.empty()) GTEST_SKIP() << reason;
  const auto exchange = rma_put.make(comm);
  constexpr std::int64_t element_bytes = sizeof(int);
  window_calls = 0;
  carry(comm, *exchange, even_route(comm, 10, 10'000'000));
  EXPECT_EQ(window_calls, 1);
  EXPECT_GE(window_bytes, 10 * comm.size() * element_bytes);
  EXPECT_LE(window_bytes, 20 * comm.size() * element_bytes);

  std::vector<std::vector<std::int64_t>> to_last(comm.size(), std::vector<std::int64_t>(comm.size(), 1));
  for (auto& of_rank : to_last) of_rank.back() = 1000;
  carry(comm, *exchange, route_of(comm, to_last, 1000 * comm.size()));
  EXPECT_EQ(window_calls, 2) << "the last rank's window was too small, so all made theirs anew";
  EXPECT_LE(window_bytes, 2000 * comm.size() * element_bytes);
  carry(comm, *exchange, even_route(comm, 1000, 10'000'000));
  EXPECT_EQ(window_calls, 2) << "this is no more";
}

TEST(RouteBound, DoesNotChooseTheCall) {
  const Communicator comm(MPI_COMM_WORLD, 50);
  for (const char* name : {"mpi_alltoallv", "mpi_neighbor"}) {
    SCOPED_TRACE(name);
    const auto exchange = exchange_named(name).make(comm);
    const Route small = even_route(comm, 50 / comm.size(), 1000);
    for (const Route& route : {small, small.inverse()}) {
      calls_of_types = 0;
      carry(comm, *exchange, route);
      EXPECT_EQ(calls_of_types, 0) << "no rank sends more than the 50 that one call may";
    }
    std::vector<std::vector<std::int64_t>> from_first(comm.size(), std::vector<std::int64_t>(comm.size(), 1));
    from_first.front().front() = 60;
    const Route large = route_of(comm, from_first, 1000);
    for (int again = 0; again < 2; ++again) {
      calls_of_types = agreements = 0;
      carry(comm, *exchange, large);
      EXPECT_EQ(calls_of_types, 1) << "one rank sends more, so all make the other call";
    }
    EXPECT_EQ(agreements, 0) << "this has been agreed on in the first run";
    calls_of_types = agreements = 0;
    carry(comm, *exchange, even_route(comm, 1, 50));
    EXPECT_EQ(calls_of_types, 0);
    const bool asks_for_graph = name == std::string_view("mpi_neighbor");
    EXPECT_EQ(agreements, asks_for_graph ? 1 : 0) << "a small bound needs no talk";
  }
}

TEST(RouteBound, DoesNotMisleadAuto) {
  const Communicator comm(MPI_COMM_WORLD);
  set_calibration(comm, some_calibration(comm));
  const auto picked_for = [&](const Route& route, int runs) {
    const auto exchange = exchange_named("auto").make(comm);
    for (int i = 0; i < runs; ++i) carry(comm, *exchange, route);
    return exchange->picked();
  };
  for (const std::int64_t bound : {32 * comm.size(), 1000 * comm.size(), 1'000'000 * comm.size()}) {
    EXPECT_EQ(picked_for(even_route(comm, 32, bound), 1), "linear") << "128 bytes to each rank";
    EXPECT_EQ(picked_for(even_route(comm, 32, bound), 2), "linear") << "and to each the same";
  }
  EXPECT_EQ(picked_for(even_route(comm, 256, 1'000'000 * comm.size()), 1), "chunked:4");
}

}  // namespace
}  // namespace shardmark::comm
