// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/criteo_line.hpp"
#include "reference/error.hpp"
#include "reference/input_file.hpp"

namespace shardmark::datasets {

/// A folder of its own for each test, removed afterwards.
class DatasetTest : public testing::Test {
 protected:
  DatasetTest() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    std::string name = "shardmark_" + std::to_string(getpid()) + "_" + info->name();
    std::ranges::replace(name, '/', '_');  // of parameterized tests
    folder_ = std::filesystem::temp_directory_path() / name;
    std::filesystem::create_directories(folder_);
  }
  ~DatasetTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename());
    return names;
  }

 private:
  std::filesystem::path folder_;
};

inline std::string slurp(const std::string& path) { return file_text(path).value_or(""); }

/// The message of the InputError that `run` throws; "no error" when it throws none.
template <class Run>
std::string error_of(Run&& run) {
  try {
    run();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

#define EXPECT_CONTAINS(text, part) EXPECT_PRED_FORMAT2(testing::IsSubstring, part, text)

/// A line whose fields are all empty except those given: label, (field, text)...
inline std::string criteo_line(std::string_view label, const std::vector<std::pair<int, std::string>>& fields = {}) {
  std::vector<std::string> texts(criteo_fields);
  for (const auto& [field, text] : fields) texts[field] = text;
  std::string line(label);
  for (const std::string& text : texts) line.append("\t").append(text);
  return line.append("\n");
}

inline void quiet(std::int64_t) {}

}  // namespace shardmark::datasets
