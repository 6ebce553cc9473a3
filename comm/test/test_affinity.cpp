// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sched.h>

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
