// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
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
  ToldBarriers told{{1e-6, 3e-6, 2e-6, 1.2e-6, 0.9e-6}};
  NearCores near(comm, [&] { return told.next(); });
  const bool several = comm.size() > 1;
  EXPECT_EQ(near.wait(60.0), several ? 1e-6 : 0.0);
  std::this_thread::sleep_for(std::chrono::seconds(1));  // so long it may wait in all
  EXPECT_EQ(near.wait(60.0), several ? 1.2e-6 : 0.0);
  EXPECT_EQ(told.given, several ? 4u : 0u);
  EXPECT_EQ(near.wait(60.0), several ? 0.9e-6 : 0.0);
}

/// No longer than it is told, than what came before has taken, and not for ranks that take turns on a core.
TEST(NearCores, DoNotWaitInVain) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  if (comm.size() == 1) return;
  ToldBarriers told{{1e-6, 3e-6, 3e-6, 50e-6}};
  NearCores near(comm, [&] { return told.next(); });
  near.wait(60.0);
  EXPECT_EQ(near.wait(0.0), 3e-6);
  EXPECT_EQ(told.given, 2u);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(near.wait(0.0), 3e-6);
  EXPECT_EQ(near.wait(60.0), 50e-6);
  EXPECT_EQ(told.given, 4u);
}

TEST(NearCores, TimeBarriersOfTheNode) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  NearCores near(comm);
  if (comm.size() == 1)
    EXPECT_EQ(near.wait(0.0), 0.0);
  else
    EXPECT_GT(near.wait(0.0), 0.0);
}

}  // namespace
}  // namespace shardmark::workloads
