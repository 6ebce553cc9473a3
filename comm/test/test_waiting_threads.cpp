// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "comm/collectives.hpp"
#include "comm/exchange/named_exchange.hpp"
#include "comm/waiting.hpp"

/// For the main of the tests.
int mpi_threads_of_tests() { return MPI_THREAD_MULTIPLE; }

namespace shardmark::comm {
namespace {

/// Several threads that wait at once, each with its own communicator.
TEST(WaitingThreads, WaitByMessagesAtTheSameTime) {
  const Communicator world(MPI_COMM_WORLD);
  std::vector<Communicator> comms;
  for (int t = 0; t < 3; ++t) comms.emplace_back(MPI_COMM_WORLD);
  std::vector<int> wrong(comms.size());
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < comms.size(); ++t)
    threads.emplace_back([&comm = comms[t], &wrong = wrong[t]] {
      set_waiting(Waiting::messages);
      const auto exchange = exchange_named("mpi_alltoallv").make(comm);
      // Rank r sends r + p values of r to rank p, none to itself where r is 0.
      std::vector<std::int64_t> sends, receives;
      std::vector<int> send, expected;
      for (int peer = 0; peer < comm.size(); ++peer) {
        sends.push_back(comm.rank() + peer);
        receives.push_back(peer + comm.rank());
        send.insert(send.end(), sends.back(), comm.rank());
        expected.insert(expected.end(), receives.back(), peer);
      }
      const Route route(sends, receives, std::int64_t{2} * comm.size() * comm.size());
      for (int repeat = 0; repeat < 200; ++repeat) {
        std::vector<int> received(expected.size(), -1);
        run(*exchange, route, std::span<const int>(send), std::span(received));
        wrong += received != expected ? 1 : 0;
        wrong += all_reduce(comm, comm.rank() + repeat, Reduce::max) != comm.size() - 1 + repeat ? 1 : 0;
        wrong += all_reduce(comm, 2.0, Reduce::sum) != 2.0 * comm.size() ? 1 : 0;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(comms.size(), 0));
}

/// The last test of the program: threads that wait for what never comes do not call MPI when it has ended.
TEST(WaitingThreads, AreHeldWhenMpiEnds) {
  for (const Waiting path : {Waiting::sleep, Waiting::messages}) {
    std::atomic<bool> waits = false;
    std::thread([path, &waits] {
      set_waiting(path);
      int value = 0;
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &request);
      waits = true;
      wait_all({&request, 1}, MPI_STATUSES_IGNORE);
    }).detach();
    while (!waits) std::this_thread::yield();
  }
  EXPECT_FALSE(hold_waiting_threads());
}

}  // namespace
}  // namespace shardmark::comm
