// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "reference/error.hpp"
#include "reference/input_file.hpp"
#include "results/record.hpp"
#include "results/table/answer.hpp"

namespace shardmark::results {

/// A valid case whose step takes median_ms: six samples around it, a tenth of a millisecond apart.
inline CaseRecord sample_case(const std::string& plan, double median_ms) {
  CaseRecord record;
  record.workload = "criteo-kaggle";
  record.plan = plan;
  record.options = {{"scale", 64},
                    {"transfer", "dense_partials"},
                    {"exchange", "mpi_alltoallv"},
                    {"wire_forward", "fp32"},
                    {"wire_backward", "fp32"},
                    {"groups", 1},
                    {"optimizer", "rowwise_adagrad"},
                    {"batch", 16384},
                    {"ids.alpha", 1.05}};
  record.changed = {"scale"};
  record.ranks = 2;
  record.threads = 1;
  record.step_ms =
      step_time({median_ms + 0.25, median_ms - 0.25, median_ms, median_ms + 0.125, median_ms - 0.125, median_ms});
  record.samples_per_s = samples_per_second(16384, record.step_ms.median);
  record.phases = {{"input_dist", 1.5, 1.25, 1 << 20}, {"lookup", 2.0, 1.75, 3 << 20}, {"update", 4.5, 4.0, 6 << 20}};
  record.imbalance = 1.0625;
  record.sent_bytes_max = 6815744;
  record.checked_steps = 3;
  record.details = {{"seed", 7}};
  return record;
}

inline nlohmann::ordered_json sample_environment() {
  return nlohmann::ordered_json::parse(R"({
    "record": "environment", "format_version": 2, "time": "2026-11-21T06:12:00Z", "seed": 7,
    "arguments": ["shardmark", "compare", "criteo-kaggle", "--scale", "1/64"],
    "build": {"version": "0.1.0", "git_hash": "0123456789abcdef0123456789abcdef01234567", "dirty": true,
              "compiler": "GNU 12.2.0", "flags": "-O3 -DNDEBUG", "type": "Release"},
    "machine": {"cpu": "Some CPU", "logical_cpus": 4, "cores": 2, "memory_bytes": 8589934592, "kernel": "6.1.0"},
    "ranks": [{"rank": 0, "host": "node1", "cpus": "0"}, {"rank": 1, "host": "node1", "cpus": "1"}]
  })");
}

inline std::vector<std::string> answer_to(const std::vector<CaseRecord>& cases) {
  return answer(findings_of(sample_environment(), cases));
}

/// The message of the InputError that `action` throws; fails the test when it throws none.
template <class Action>
std::string input_error(Action&& action) {
  try {
    action();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no InputError";
  return "";
}

inline std::string contents(const std::filesystem::path& file) { return file_text(file).value_or(""); }

/// A folder of its own for each test and process, empty at its start.
class FolderTest : public testing::Test {
 protected:
  FolderTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder = std::filesystem::path(testing::TempDir()) / (std::string("shardmark_") + test->test_suite_name() + '_' +
                                                          test->name() + '_' + std::to_string(getpid()));
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  ~FolderTest() override { std::filesystem::remove_all(folder); }

  std::filesystem::path folder;
};

}  // namespace shardmark::results
