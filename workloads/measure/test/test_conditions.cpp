// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include "workloads/measure/conditions.hpp"

namespace shardmark::workloads {
namespace {

TEST(Conditions, ProcessorsAreThoseThatTheRanksMayUse) {
  const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  const std::string stat =
      "cpu  84288 0 7520 23299 627 0 127 399 0 0\n"
      "cpu0 100 10 20 5000 30 3 4 7 50 0\n"
      "cpu1 1000 0 0 5000 0 0 0 0 0 0\n"
      "cpu10 1 0 0 0 0 0 0 2 0 0\n"
      "intr 358257 0\n"
      "ctxt 12\n";
  const ProcessorTimes times = processor_times(stat, {0, 10});
  EXPECT_NEAR(times.busy, 138 * tick, 1e-9);
  EXPECT_NEAR(times.stolen, 9 * tick, 1e-9);
  EXPECT_EQ(processor_times("", {0}).busy, 0.0);
  EXPECT_EQ(processor_times("cpuX what\ncpu0\n", {0}).busy, 0.0);
}

TEST(Conditions, RunnableThreadsAreTheFourthWord) {
  EXPECT_EQ(runnable_threads("3.01 2.39 1.20 5/108 8490\n"), 5);
  EXPECT_EQ(runnable_threads(""), 0);
  EXPECT_EQ(runnable_threads("a b c d"), 0);
}

}  // namespace
}  // namespace shardmark::workloads
