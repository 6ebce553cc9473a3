// SPDX-License-Identifier: Apache-2.0
// What the emulated device finds: each of these faults would be a crash or a race on a GPU.
#include <cstdlib>
#include <numeric>

#include "kernels/test/bags.hpp"

namespace shardmark::kernels::test {
namespace {

using Floats = Array<Space, float>;
using HostFloats = Kokkos::View<float*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;

bool runs_early() {
  const char* when = std::getenv("SHARDMARK_EMULATED");
  return when != nullptr && std::string_view(when) != "deferred";
}

Floats numbered(const Space& exec, std::int64_t count) {
  const Floats numbers = allocate<Space, float>("numbers", count);
  Kokkos::parallel_for(
      "test::number", static_range(exec, count), KOKKOS_LAMBDA(std::int64_t i) { numbers(i) = static_cast<float>(i); });
  return numbers;
}

TEST(EmulatedDeviceDeathTest, TheHostMayNotTouchAnElement) {
  const Floats numbers = numbered(Space(), 3);
  EXPECT_DEATH(std::printf("%f", static_cast<double>(numbers(1))), "the host touched an element of \"numbers\"");
}

TEST(EmulatedDeviceDeathTest, NorReadByAPointer) {
  const Floats numbers = numbered(Space(), 3);
  EXPECT_DEATH(std::printf("%f", static_cast<double>(numbers.data()[1])), "the host touched \"numbers\"");
}

TEST(EmulatedDeviceDeathTest, AKernelMayNotTouchMemoryOfTheHost) {
  if (std::getenv("SHARDMARK_EMULATED_HEAP") == nullptr) GTEST_SKIP() << "SHARDMARK_EMULATED_HEAP is not set";
  const Floats numbers = numbered(Space(), 3);
  const std::vector<float> host{1, 2, 3};
  const float* values = host.data();
  EXPECT_DEATH(
      {
        Kokkos::parallel_for(
            "test::reads_host", static_range(Space(), 3), KOKKOS_LAMBDA(std::int64_t i) { numbers(i) = values[i]; });
        Space().fence();
      },
      "a kernel touched memory of the host");
}

TEST(EmulatedDevice, AMissingWaitIsAWrongValue) {
  if (runs_early()) GTEST_SKIP() << "not everything is deferred";
  const Space exec;
  const Floats numbers = numbered(exec, 3);
  std::vector<float> host(3, -1.0F);
  Kokkos::deep_copy(exec, HostFloats(host.data(), host.size()), numbers);
  EXPECT_EQ(host, std::vector<float>(3, -1.0F));
  exec.fence();
  EXPECT_EQ(host, (std::vector<float>{0, 1, 2}));
}

TEST(EmulatedDevice, HostMemoryThatIsFreedTooEarlyIsCopiedAsNonsense) {
  if (runs_early()) GTEST_SKIP() << "not everything is deferred";
  const Space exec;
  const Floats numbers = allocate<Space, float>("numbers", 3);
  {
    std::vector<float> host{1, 2, 3};
    Kokkos::deep_copy(exec, numbers, HostFloats(host.data(), host.size()));
  }
  const auto found = test::host(numbers);
  EXPECT_NE(found, (std::vector<float>{1, 2, 3}));
}

/// The free of an array waits for nothing, but comes behind the kernels that use it; its memory is not a number then.
TEST(EmulatedDevice, AFreedArrayHoldsNonsense) {
  const Space exec;
  Floats numbers = numbered(exec, 1000);
  const Floats sums = allocate<Space, float>("sums", 2);
  const float* freed = numbers.data();
  const auto add = [&](std::int64_t at) {
    Kokkos::parallel_for(
        "test::add", static_range(exec, 1), KOKKOS_LAMBDA(std::int64_t) { sums(at) = freed[1] + freed[2]; });
  };
  add(0);
  numbers = {};
  add(1);
  const auto found = test::host(sums);
  EXPECT_EQ(found[0], 3.0F);
  EXPECT_TRUE(std::isnan(found[1]));
}

TEST(EmulatedDevice, NewArraysHoldNoNumbers) {
  for (const float value : test::host(allocate<Space, float>("new", 5))) EXPECT_TRUE(std::isnan(value));
  for (const std::int64_t value : test::host(allocate<Space, std::int64_t>("new", 5))) EXPECT_EQ(value, -1);
}

TEST(EmulatedDevice, ReducesAndScans) {
  const Space exec;
  for (const std::int64_t count : {0, 1, 2, 3, 7, 100}) {
    std::vector<std::int64_t> values(at(count));
    std::iota(values.begin(), values.end(), 3);
    const auto array = array_of(exec, values, "values");
    const auto before = allocate<Space, std::int64_t>("before", count);
    std::int64_t sum = 0, total = 0, largest = 0;
    Kokkos::parallel_reduce(
        "test::sum", static_range(exec, count), KOKKOS_LAMBDA(std::int64_t i, std::int64_t & s) { s += array(i); },
        sum);
    Kokkos::parallel_reduce(
        "test::largest", static_range(exec, count),
        KOKKOS_LAMBDA(std::int64_t i, std::int64_t & most) { most = Kokkos::max(most, array(i)); },
        Kokkos::Max<std::int64_t>(largest));
    Kokkos::parallel_scan(
        "test::scan", static_range(exec, count),
        KOKKOS_LAMBDA(std::int64_t i, std::int64_t & s, bool last) {
          const std::int64_t value = array(i);
          if (last) before(i) = s;
          s += value;
        },
        total);
    std::vector<std::int64_t> expected(values.size());
    std::exclusive_scan(values.begin(), values.end(), expected.begin(), std::int64_t{0});
    EXPECT_EQ(test::host(before), expected);
    EXPECT_EQ(sum, std::reduce(values.begin(), values.end()));
    EXPECT_EQ(total, sum);
    if (count > 0) {
      EXPECT_EQ(largest, values.back());
    }
  }
}

/// Each thread of a team writes an element and reads that of the one after it, with a barrier between or without.
std::vector<float> exchanged_in_teams(bool waits) {
  const Space exec;
  constexpr int teams = 3, size = 4;
  const Floats written = allocate<Space, float>("written", teams * size),
               read = allocate<Space, float>("read", teams * size);
  Kokkos::parallel_for(
      "test::exchange", Kokkos::TeamPolicy<Space>(exec, teams, size, 1),
      KOKKOS_LAMBDA(const Kokkos::TeamPolicy<Space>::member_type& team) {
        const int first = team.league_rank() * size, own = team.team_rank();
        written(first + own) = static_cast<float>(own);
        if (waits) team.team_barrier();
        read(first + own) = written(first + (own + size - 1) % size);
      });
  return test::host(read);
}

TEST(EmulatedDevice, ThreadsOfATeamMeetAtBarriers) {
  const std::vector<float> expected{3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2};
  EXPECT_EQ(exchanged_in_teams(true), expected);
  EXPECT_NE(exchanged_in_teams(false), expected);
}

TEST(EmulatedDeviceDeathTest, AThreadMayNotEndWhereOthersWaitForIt) {
  EXPECT_DEATH(
      {
        Kokkos::parallel_for(
            "test::leaves", Kokkos::TeamPolicy<Space>(Space(), 1, 4, 1),
            KOKKOS_LAMBDA(const Kokkos::TeamPolicy<Space>::member_type& team) {
              if (team.team_rank() != 1) team.team_barrier();
            });
        Space().fence();
      },
      "a thread of a team");
}

TEST(EmulatedDeviceDeathTest, LanesMustComeToTheSameCollective) {
  EXPECT_DEATH(
      {
        emulated::for_lanes(1, [](std::int64_t lane) { lane == 7 ? __syncwarp() : (void)__all_sync(~0U, true); });
        Space().fence();
      },
      "lanes came to different collectives");
}

}  // namespace
}  // namespace shardmark::kernels::test
