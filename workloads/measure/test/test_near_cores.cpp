// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "workloads/measure/near_cores.hpp"

namespace shardmark::workloads {
namespace {

/// Gives the seconds of barriers that it is told, one after the other, and counts them.
struct ToldBarriers {
  std::vector<double> seconds;
  std::size_t given = 0;

  double next() { return seconds.at(given++); }
};

TEST(NearCores, WaitUntilBarriersAreAsShortAsBefore) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  ToldBarriers told{{3e-6, 1e-6, 3e-6, 2e-6, 1.2e-6, 0.9e-6}};
  NearCores near(comm, 600.0, 0.0, [&] { return told.next(); });
  const bool several = comm.size() > 1;
  EXPECT_EQ(near.wait(), several ? 3e-6 : 0.0);
  EXPECT_EQ(near.wait(), several ? 1e-6 : 0.0);
  EXPECT_EQ(near.wait(), several ? 1.2e-6 : 0.0);
  EXPECT_EQ(told.given, several ? 5u : 0u);
  EXPECT_EQ(near.wait(), several ? 0.9e-6 : 0.0);
}

TEST(NearCores, WaitForWhatIsExpected) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  if (comm.size() == 1) return;
  ToldBarriers told{{3e-6, 2e-6, 1.2e-6, 3e-6, 1.1e-6}};
  NearCores near(comm, 600.0, 1e-6, [&] { return told.next(); });
  EXPECT_EQ(near.wait(), 1.2e-6);
  EXPECT_EQ(near.wait(), 1.1e-6);
  EXPECT_EQ(told.given, 5u);
}

/// No longer than they may, and not for ranks that take turns on a core.
TEST(NearCores, DoNotWaitInVain) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  if (comm.size() == 1) return;
  ToldBarriers told{{1e-6, 3e-6, 1e-6, 50e-6}};
  NearCores never(comm, 0.0, 0.0, [&] { return told.next(); });
  never.wait();
  EXPECT_EQ(never.wait(), 3e-6);
  EXPECT_EQ(told.given, 2u);
  NearCores near(comm, 600.0, 0.0, [&] { return told.next(); });
  near.wait();
  EXPECT_EQ(near.wait(), 50e-6);
}

TEST(NearCores, EndTheirWaitWhenTheAllowanceIsSpent) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  bool first = true;
  NearCores near(comm, 0.1, 0.0, [&] { return std::exchange(first, false) ? 1e-6 : 3e-6; });
  near.wait();
  EXPECT_EQ(near.wait(), comm.size() > 1 ? 3e-6 : 0.0);
}

TEST(NearCores, TimeBarriersOfTheNode) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  NearCores near(comm, 0.0, barrier_of_near_cores(comm));
  if (comm.size() == 1)
    EXPECT_EQ(near.wait(), 0.0);
  else
    EXPECT_GT(near.wait(), 0.0);
}

}  // namespace
}  // namespace shardmark::workloads
