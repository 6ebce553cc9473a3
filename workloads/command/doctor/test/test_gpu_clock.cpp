// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "workloads/command/doctor/gpu_clock.hpp"

namespace shardmark::workloads {
namespace {

std::string held_by(const char* reasons) {
  setenv("SHARDMARK_TEST_HELD", reasons, 1);
  const auto clock = gpu_clock("0000:3b:00", SHARDMARK_SOME_NVML);
  unsetenv("SHARDMARK_TEST_HELD");
  return clock ? clock->held_by : "no clock";
}

TEST(GpuClock, IsThatOfTheMultiprocessors) {
  const auto clock = gpu_clock("0000:3b:00", SHARDMARK_SOME_NVML);
  ASSERT_TRUE(clock);
  EXPECT_EQ(clock->mhz, 1200);
  EXPECT_EQ(clock->held_by, "");
}

TEST(GpuClock, SaysWhatHoldsItBack) {
  EXPECT_EQ(held_by("0x4"), "its power limit");
  EXPECT_EQ(held_by("0x24"), "heat");  // and its power limit
  EXPECT_EQ(held_by("0x8"), "heat or power");
  EXPECT_EQ(held_by("0x2"), "a clock that was set");
  EXPECT_EQ(held_by("0x100"), "");  // of a display
}

TEST(GpuClock, IsUnknownWithoutTheLibraryOrTheGpu) {
  EXPECT_FALSE(gpu_clock("0000:3b:00", "no-such-library.so.1"));
  EXPECT_FALSE(gpu_clock("0000:3c:00", SHARDMARK_SOME_NVML));
}

}  // namespace
}  // namespace shardmark::workloads
