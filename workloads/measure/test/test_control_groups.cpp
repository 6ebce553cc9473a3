// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>

#include "workloads/measure/control_groups.hpp"

namespace shardmark::workloads {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> groups_of(const std::string& lines) {
  const fs::path file = fs::path(testing::TempDir()) / "cgroup";
  std::ofstream(file) << lines;
  return control_groups("memory", file, "/top");
}

TEST(ControlGroups, AreThoseOfTheControllerAndTheGroupsTheyLieIn) {
  EXPECT_EQ(groups_of("5:devices:/d\n4:hugetlb,memory:/slurm/uid_0/job_1\n1:name=systemd:/memory\n"),
            (std::vector<fs::path>{"/top/memory/slurm/uid_0/job_1", "/top/memory/slurm/uid_0", "/top/memory/slurm",
                                   "/top/memory"}));
}

TEST(ControlGroups, OfVersion2HaveAllControllers) {
  EXPECT_EQ(groups_of("0::/user/job\n"), (std::vector<fs::path>{"/top/user/job", "/top/user", "/top"}));
}

TEST(ControlGroups, OfBothVersionsHold) {
  EXPECT_EQ(groups_of("3:memory:/\n0::/\n"), (std::vector<fs::path>{"/top/memory", "/top"}));
}

TEST(ControlGroups, WhereNothingCanBeReadThereAreNone) {
  EXPECT_TRUE(control_groups("memory", "/no/such/file").empty());
  EXPECT_TRUE(groups_of("nonsense\n\n").empty());
}

}  // namespace
}  // namespace shardmark::workloads
