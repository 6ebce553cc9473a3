// SPDX-License-Identifier: Apache-2.0
#include "kernels/test/bags.hpp"

namespace shardmark::kernels::test {
namespace {

/// What lies in a kernel behind arrays: host and device must lay it out alike. (nvcc 13.0 does not, for some Views.)
struct BehindArrays {
  Array<Space, float> first;
  ConstArray<Space, std::int64_t> second;
  std::int32_t number;
  Array<Space, std::int64_t> found;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const { found(i) = number; }
  template <class Team>
  requires(!std::is_integral_v<Team>) KOKKOS_FUNCTION void operator()(const Team& team) const {
    found(team.league_rank()) = number + static_cast<std::int64_t>(second.extent(0));
  }
};

TEST(KernelArguments, LieWhereTheHostPutThem) {
  const Space exec;
  const auto second = array_of(exec, std::vector<std::int64_t>(7), "second");
  const auto of_ranges = array_of(exec, std::vector<std::int64_t>(3), "of ranges");
  const auto of_teams = array_of(exec, std::vector<std::int64_t>(3), "of teams");
  Kokkos::parallel_for("shardmark::arguments", static_range(exec, 3), BehindArrays{{}, second, 42, of_ranges});
  Kokkos::parallel_for("shardmark::arguments", Kokkos::TeamPolicy<Space>(exec, 3, 1),
                       BehindArrays{{}, second, 42, of_teams});
  exec.fence();
  EXPECT_EQ(host(of_ranges), (std::vector<std::int64_t>{42, 42, 42}));
  EXPECT_EQ(host(of_teams), (std::vector<std::int64_t>{49, 49, 49}));
}

}  // namespace
}  // namespace shardmark::kernels::test
