// SPDX-License-Identifier: Apache-2.0
// Once it is known, a route is carried without memory from the heap and without talk beside its data, and so are sums:
// operator new is counted, and so are, through MPI's profiling interface, the collective operations by which ranks
// could agree.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "comm/collectives.hpp"
#include "comm/exchange/named_exchange.hpp"
#include "comm/reduction/reductions.hpp"
#include "comm/test/some_calibration.hpp"
#include "reference/named.hpp"

namespace {
std::atomic<int> allocations = 0;
int agreements = 0;
std::int64_t messages = 0;
}  // namespace

__attribute__((noinline)) void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  ++agreements;
  return PMPI_Allreduce(send, receive, count, type, op, comm);
}
int MPI_Alltoall(const void* send, int count, MPI_Datatype type, void* receive, int received,
                 MPI_Datatype received_type, MPI_Comm comm) {
  ++agreements;
  return PMPI_Alltoall(send, count, type, receive, received, received_type, comm);
}
int MPI_Allgatherv(const void* send, int count, MPI_Datatype type, void* receive, const int* counts, const int* offsets,
                   MPI_Datatype received_type, MPI_Comm comm) {
  ++agreements;
  return PMPI_Allgatherv(send, count, type, receive, counts, offsets, received_type, comm);
}
int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  ++agreements;
  return PMPI_Bcast(buffer, count, type, root, comm);
}
int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int in, const int* sources, const int* source_weights, int out,
                                   const int* targets, const int* target_weights, MPI_Info info, int reorder,
                                   MPI_Comm* graph) {
  ++agreements;
  return PMPI_Dist_graph_create_adjacent(comm, in, sources, source_weights, out, targets, target_weights, info, reorder,
                                         graph);
}
int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request* request) {
  ++messages;
  return PMPI_Isend(buffer, count, type, peer, tag, comm, request);
}

namespace shardmark::comm {
namespace {

class SteadyExchanges : public testing::TestWithParam<NamedExchange> {};

INSTANTIATE_TEST_SUITE_P(All, SteadyExchanges, testing::ValuesIn(all_exchanges()),
                         [](const auto& instance) { return std::string(instance.param.choice->name); });

TEST_P(SteadyExchanges, NeitherAllocateNorAgree) {
  const Communicator world(MPI_COMM_WORLD);
  std::vector<int> leaders;  // two nodes, whose ranks take turns
  for (int rank = 0; rank < world.size(); ++rank) leaders.push_back(rank % 2);
  const Communicator comm(MPI_COMM_WORLD, world.count_limit(), leaders);
  if (const auto reason = GetParam().unusable(comm); !reason.empty()) GTEST_SKIP() << reason;
  set_calibration(comm, some_calibration(comm));
  const auto exchange = GetParam().make(comm);
  std::vector<std::int64_t> counts;  // to the next rank most, to the one before nothing
  for (int peer = 0; peer < comm.size(); ++peer)
    counts.push_back((peer + comm.size() - comm.rank()) % comm.size() * 100);
  const Route there = exchange_counts(comm, counts), back = there.inverse();
  constexpr std::int64_t element_bytes = 16;
  std::vector<std::byte> sent(there.send_total() * element_bytes), returned(sent.size());
  std::vector<std::byte> received(there.receive_total() * element_bytes);
  const auto run_both = [&] {
    exchange->run(there, sent.data(), received.data(), element_bytes);
    exchange->run(back, received.data(), returned.data(), element_bytes);
  };
  run_both();
  run_both();  // auto knows a route from its second run on
  allocations = agreements = 0;
  messages = 0;
  run_both();
  EXPECT_EQ(allocations, 0);
  EXPECT_EQ(agreements, 0);
  const auto steady = messages;
  run_both();
  EXPECT_EQ(messages, 2 * steady);
}

TEST(SteadyReductions, NeitherAllocateNorAgree) {
  const Communicator comm(MPI_COMM_WORLD, 50);
  std::vector<std::int64_t> counts;
  for (int rank = 0; rank < comm.size(); ++rank) counts.push_back(rank * 100);
  std::vector<float> all(exclusive_scan(counts).back());
  std::vector<float> own(counts[comm.rank()]);
  for (const std::string_view name : {"pairwise", "recursive_halving"}) {
    SCOPED_TRACE(name);
    const auto reduction = choice_named(reductions, "reduction", name).make(comm);
    reduction->lay_out(counts);
    for (int step = 0; step < 2; ++step) {
      allocations = agreements = 0;
      reduction->reduce_scatter(all, own);
      reduction->all_gather(own, all);
    }
    EXPECT_EQ(allocations, 0);
    EXPECT_EQ(agreements, 0);
  }
}

}  // namespace
}  // namespace shardmark::comm
