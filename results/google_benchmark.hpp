// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "results/launch.hpp"

namespace shardmark::results {

/// Reads a file that a Google Benchmark program wrote with --benchmark_out=FILE --benchmark_out_format=json: each
/// repetition's real_time (the manual time where there is one) in its time_unit is a sample. Aggregates are left out; a
/// row with error_occurred is an error of its case. With `counter` that user counter is the sample instead, in the unit
/// with which its name ends: median_us. (real_time is the mean over the iterations, which one disturbed iteration can
/// double.) Throws InputError naming `file` and the entry that cannot be used. The format is described in
/// https://github.com/google/benchmark/blob/main/docs/user_guide.md
Launch google_benchmark_launch(const nlohmann::ordered_json& json, const std::string& file,
                               const std::string& counter = "");

/// Holds a benchmark of such a file: medians over its repetitions.
struct BenchmarkRow {
  std::string name;
  double median_ms = 0.0;                                ///< of real_time; above 0 unless there is an error
  std::string error;                                     ///< empty: none
  std::vector<std::pair<std::string, double>> counters;  ///< the user's, in the order of the file
};

/// Reads the benchmarks in the order of the file. Throws as google_benchmark_launch() does.
std::vector<BenchmarkRow> benchmark_rows(const nlohmann::ordered_json& json, const std::string& file);

}  // namespace shardmark::results
