// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <numeric>

#include "comm/collectives.hpp"
#include "comm/exchange/named_exchange.hpp"
#include "comm/exchange/progress_thread.hpp"

namespace shardmark::comm {
namespace {

/// The process ends where `seconds` are not enough: a call that waits for ever cannot be left in any other way.
class EndsWithin {
 public:
  explicit EndsWithin(unsigned seconds) { alarm(seconds); }
  ~EndsWithin() { alarm(0); }
};

/// As where ranks have unequal shares of the cores: some have one for the progress thread and may poll, others must
/// sleep. MPI matches no blocking collective call with a nonblocking one.
TEST(ProgressWaiting, RanksWithUnequalSharesOfCoresMakeTheSameCalls) {
  const Communicator comm(MPI_COMM_WORLD);
  const EndsWithin limit(30);
  for (int sleeper = 0; sleeper < comm.size(); ++sleeper) {
    ProgressThread progress(common_waiting(comm, comm.rank() == sleeper ? Waiting::sleep : Waiting::poll));
    const auto exchange = exchange_named("mpi_alltoallv").make(comm);
    const Route route = exchange_counts(comm, std::vector<std::int64_t>(comm.size(), 1));
    const std::vector<int> send(comm.size(), comm.rank());
    std::vector<int> received(comm.size(), -1), ranks(comm.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    progress.interleave(2, [&](std::int64_t task) {
      int sum = 1;
      progress.run([&] {
        if (task == 0) run(*exchange, route, std::span(send), std::span(received));
        if (task == 1) sum = all_reduce(comm, sum, Reduce::sum);
      });
      EXPECT_EQ(sum, task == 0 ? 1 : comm.size());
    });
    EXPECT_EQ(received, ranks) << "sleeper " << sleeper;
  }
}

TEST(ProgressWaiting, IsTheSameOnAllRanks) {
  const Communicator comm(MPI_COMM_WORLD);
  const auto waiting_with = [&](Waiting wanted) {
    ProgressThread progress(common_waiting(comm, wanted));
    Waiting seen = Waiting::poll;
    progress.interleave(2, [&](std::int64_t) { progress.run([&] { seen = waiting(); }); });
    return seen;
  };
  EXPECT_EQ(waiting_with(Waiting::poll), Waiting::poll);
  EXPECT_EQ(waiting_with(Waiting::sleep), Waiting::sleep);
  EXPECT_EQ(waiting_with(comm.rank() == 0 ? Waiting::sleep : Waiting::poll), Waiting::sleep);
}

}  // namespace
}  // namespace shardmark::comm
