// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "comm/affinity.hpp"
#include "comm/collectives.hpp"

namespace shardmark::comm {
namespace {

TEST(Affinity, IsWhatTheOperatingSystemAllows) {
  const Affinity affinity = observed_affinity();
  EXPECT_FALSE(affinity.cores.empty());
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  EXPECT_LE(affinity.cores.size(), CPU_COUNT(&set));
}

/// Binds every thread of this process, as a launcher's binding does.
void bind_all_threads(const cpu_set_t& set) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    ASSERT_EQ(sched_setaffinity(std::stoi(task.path().filename()), sizeof(set), &set), 0) << task.path();
  }
}

TEST(Affinity, SeesABindingToOneProcessingUnit) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &before)) --last;
  CPU_ZERO(&one);
  CPU_SET(last, &one);
  bind_all_threads(one);
  const Affinity affinity = observed_affinity();
  bind_all_threads(before);
  EXPECT_EQ(affinity.processing_units, std::to_string(last));
  EXPECT_EQ(affinity.cores.size(), 1u);
}

/// Another thread, so that this one stays as it is.
TEST(CoreSet, BindsTheThreadThatAsks) {
  const Affinity affinity = observed_affinity();
  const CoreSet last(affinity, std::span(affinity.cores).last(1));
  std::string seen;
  std::thread([&] {
    last.bind_thread();
    cpu_set_t set;
    sched_getaffinity(0, sizeof(set), &set);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) seen = std::to_string(cpu);
  }).join();
  EXPECT_TRUE(last.processing_units().ends_with(seen)) << last.processing_units();
  EXPECT_EQ(CoreSet(affinity, affinity.cores).processing_units(), affinity.processing_units);
}

TEST(ShareOfCores, DividesSharedCoresOnly) {
  EXPECT_EQ(share_of_cores({{0, 1, 2, 3}}, 0), 4);
  EXPECT_EQ(share_of_cores({{0, 1, 2, 3}, {0, 1, 2, 3}}, 1), 2);
  EXPECT_EQ(share_of_cores({{0, 1}, {2, 3}}, 1), 2);
  EXPECT_EQ(share_of_cores({{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}, 2), 1);
  EXPECT_EQ(share_of_cores({{0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}}, 0), 2);
  EXPECT_EQ(share_of_cores({{0, 1}, {1, 2, 3}}, 0), 1);  // 1 + 1/2
  EXPECT_EQ(share_of_cores({{0, 1}, {1, 2, 3}}, 1), 2);  // 1/2 + 2
}

TEST(ShareOfCores, IsAtLeastOne) {
  EXPECT_EQ(share_of_cores({{0}, {0}, {0}}, 1), 1);
  EXPECT_EQ(share_of_cores({{}, {0}}, 0), 1);
}

TEST(MostShareCache, CountsTheOtherRanksOfTheNode) {
  EXPECT_TRUE(most_share_cache({{0}}, 0));  // no others
  EXPECT_TRUE(most_share_cache({{0}, {0}}, 1));
  EXPECT_FALSE(most_share_cache({{0}, {1}}, 0));
  EXPECT_TRUE(most_share_cache({{0, 1}, {1, 2}}, 0));
  EXPECT_TRUE(most_share_cache({{0}, {0}, {1}}, 0));  // one of two
  EXPECT_FALSE(most_share_cache({{0}, {0}, {1}}, 2));
  EXPECT_FALSE(most_share_cache({{0}, {0}, {1}, {1}}, 0));  // one of three
  EXPECT_TRUE(most_share_cache({{}, {1}}, 0));              // unknown
}

TEST(NeighboursShareCache, WhereRanksAreNotBound) {  // --bind-to none
  const Communicator comm(MPI_COMM_WORLD);
  EXPECT_TRUE(neighbours_share_cache(comm, observed_affinity()));
}

/// hwloc is told that each of two processing units has a cache of its own; ranks take turns between the two.
TEST(NeighboursShareCache, NotWhereMostAreBoundToOtherCaches) {
  const Communicator comm(MPI_COMM_WORLD);
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  if (!CPU_ISSET(0, &before) || !CPU_ISSET(1, &before)) GTEST_SKIP() << "needs processing units 0 and 1";
  CPU_ZERO(&one);
  CPU_SET(comm.node_rank() % 2, &one);
  setenv("HWLOC_SYNTHETIC", "pack:1 l3:2 core:1 pu:1", 1);
  setenv("HWLOC_THISSYSTEM", "1", 1);  // bindings are those of this machine
  bind_all_threads(one);
  const Affinity affinity = observed_affinity();
  bind_all_threads(before);
  unsetenv("HWLOC_SYNTHETIC");
  unsetenv("HWLOC_THISSYSTEM");
  EXPECT_EQ(affinity.caches, std::vector{comm.node_rank() % 2});
  int alike = 0;
  for (int rank = 0; rank < comm.node_size(); ++rank) alike += rank % 2 == comm.node_rank() % 2 ? 1 : 0;
  EXPECT_EQ(neighbours_share_cache(comm, affinity), 2 * (alike - 1) >= comm.node_size() - 1);
}

TEST(ThreadsForRank, DividesTheCoresOfTheNode) {
  const Communicator comm(MPI_COMM_WORLD);
  const Affinity affinity = observed_affinity();
  const int threads = threads_for_rank(comm, affinity);
  EXPECT_GE(threads, 1);
  EXPECT_LE(threads, static_cast<int>(affinity.cores.size()));
  // The tests start unbound (--bind-to none): all ranks of this node share the same cores.
  if (comm.nodes() == 1) {
    EXPECT_EQ(threads, std::max(1, static_cast<int>(affinity.cores.size()) / comm.size()));
  }
}

}  // namespace
}  // namespace shardmark::comm
