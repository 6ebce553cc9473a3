// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "results/json_lines.hpp"

namespace shardmark::results {

/// Holds what one launch of a program reports about one case.
struct LaunchedCase {
  std::string name;
  double median_ms = 0.0;  ///< over the samples or repetitions within the launch; above 0 unless there is an error
  std::string error;       ///< why the launch has no time of this case; empty when it has
  /// Holds name and value in effect of its options, and the digest of its plan; those of equal names must agree for
  /// times to be comparable.
  std::vector<std::pair<std::string, std::string>> options = {};
  bool disturbed = false;  ///< other processes took the processors while it was timed (disturbance.hpp)
};

/// A Launch is one process and one file: the unit of replication. What varies between launches (pages, address layout,
/// clock, the hour) varies more than what varies within one.
struct Launch {
  std::string file;
  std::string revision;  ///< commit of the program; empty when the file does not say
  /// Holds what must agree for times to be comparable: host, cpu, compiler, flags, ... as the file has them.
  std::vector<std::pair<std::string, std::string>> context;
  std::vector<LaunchedCase> cases;  ///< in the order of the file, each name once

  const LaunchedCase* find(std::string_view name) const;
};

/// Reads a results file of shardmark (JSON Lines) or a file of Google Benchmark (--benchmark_out_format=json); their
/// content shows which it is. `counter` is that of google_benchmark_launch(); results files need none. Throws
/// InputError naming the file and the line or entry that cannot be used.
Launch read_launch(const std::filesystem::path& file, const std::string& counter = "");

/// Reads the launches of files and of folders, whose .json and .jsonl files are taken in the order of their names: the
/// order in which they ran. Throws InputError as read_launch() does, and for a folder without launches.
std::vector<Launch> read_launches(std::span<const std::filesystem::path> files_or_folders,
                                  const std::string& counter = "");

/// Converts a results file to a launch. Its cases are named by workload, plan, transfer, exchange, optimizer and every
/// option that is not at its default; a case with wrong values is an error.
Launch launch_of(const Results& results, const std::string& file);

/// Collects the samples of each case, in milliseconds, and closes them into medians.
class CaseSamples {
 public:
  void add(const std::string& name, std::span<const double> samples_ms);
  void fail(const std::string& name, const std::string& error);
  std::vector<LaunchedCase> medians() const;

 private:
  struct Entry {
    std::string name;
    std::vector<double> samples;
    std::string error;
  };
  Entry& entry(const std::string& name);

  std::vector<Entry> entries_;
};

}  // namespace shardmark::results
