// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

#include "results/build_info.hpp"
#include "results/environment.hpp"

namespace shardmark::results {
namespace {

RunContext context() {
  return {.arguments = {"shardmark", "run", "criteo-kaggle"},
          .seed = 42,
          .ranks = {{{"rank", 0}, {"host", "node1"}, {"cpus", "0-3"}}},
          .libraries = {{"mpi", "Open MPI 4.1.4"}, {"hdf5", "1.10.8"}}};
}

TEST(Environment, HoldsWhatTheProgramKnows) {
  const auto record = environment_record(context());
  EXPECT_EQ(record.at("record"), "environment");
  EXPECT_EQ(record.at("format_version"), 2);
  EXPECT_EQ(record.at("arguments").dump(), R"(["shardmark","run","criteo-kaggle"])");
  EXPECT_EQ(record.at("seed"), 42);
  EXPECT_EQ(record.at("ranks").dump(), R"([{"rank":0,"host":"node1","cpus":"0-3"}])");
  EXPECT_EQ(record.at("libraries").at("mpi"), "Open MPI 4.1.4");
  EXPECT_TRUE(record.at("machine").contains("cpu"));
  EXPECT_EQ(record.at("build").at("version"), build_info().version);
}

TEST(Environment, RecordsOnlyTheVariablesOfTheList) {
  setenv("SECRET_TOKEN", "hunter2-a", 1);
  setenv("OMP_SECRET_TOKEN", "hunter2-b", 1);
  setenv("SLURM_JOB_ACCOUNT", "hunter2-c", 1);
  setenv("SLURM_JWT", "hunter2-d", 1);
  setenv("OMP_PLACES", "cores", 1);
  setenv("SLURM_JOB_ID", "1234", 1);
  unsetenv("OMP_SCHEDULE");
  const auto record = environment_record(context());
  EXPECT_EQ(record.at("variables").at("OMP_PLACES"), "cores");
  EXPECT_EQ(record.at("variables").at("SLURM_JOB_ID"), "1234");
  EXPECT_FALSE(record.at("variables").contains("OMP_SCHEDULE"));
  EXPECT_EQ(record.dump().find("hunter2"), std::string::npos) << record.dump();
  EXPECT_EQ(record.dump().find("SECRET"), std::string::npos) << record.dump();
}

TEST(Environment, EachVariableIsListedOnce) {
  auto names = recorded_variables;
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(Environment, TimeIsUtc) {
  EXPECT_EQ(utc_time(std::chrono::system_clock::from_time_t(0)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_time(std::chrono::system_clock::from_time_t(1'782'000'000)), "2026-06-21T00:00:00Z");
}

TEST(BuildInfo, NamesTheBuild) {
  const BuildInfo& build = build_info();
  EXPECT_FALSE(build.version.empty());
  EXPECT_NE(build.compiler.find('.'), build.compiler.npos) << build.compiler;
  EXPECT_TRUE(build.git_hash.empty() || build.git_hash.size() == 40) << build.git_hash;
  EXPECT_EQ(build.git_hash.find_first_not_of("0123456789abcdef"), build.git_hash.npos) << build.git_hash;
  EXPECT_FALSE(build.git_hash.empty() && build.dirty);
}

}  // namespace
}  // namespace shardmark::results
