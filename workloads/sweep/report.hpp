// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "workloads/sweep/exchange_sweep.hpp"

namespace shardmark::workloads {

/// Holds the results of all exchanges on one traffic.
struct SweepResult {
  TrafficCase traffic;
  std::vector<SweepLine> lines;
};

/// Returns the column headers, and what they mean in lines of '#'.
std::string sweep_header();

/// Returns a line per exchange: the shortest median first.
std::string sweep_lines(const SweepResult& result);

/// Returns one line of a results file; times in milliseconds as in the records of cases.
nlohmann::ordered_json to_json(const TrafficCase& traffic, const SweepLine& line);

/// Names where another exchange beats the library's MPI_Alltoallv, which no collection of other MPI calls should
/// (Traeff, Gropp and Thakur, Self-consistent MPI performance guidelines, IEEE TPDS 2010): the whole confidence
/// interval of its median lies below the library's. It also compares `auto` with the library, if both were measured.
std::string findings(const std::vector<SweepResult>& results);

}  // namespace shardmark::workloads
