// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "workloads/cases/options.hpp"

namespace shardmark {

/// The command line of `run` and `compare`, as it was given.
struct CaseArguments {
  std::string workload;
  std::vector<std::string> plans, transfers, exchanges;
  std::vector<std::string> wires;  ///< both ways; empty: wires_forward with wires_backward
  std::vector<std::string> wires_forward = {"fp32"}, wires_backward = {"fp32"};
  std::vector<std::string> wire_ids = {"auto"};
  std::vector<std::string> dedups = {"auto"};
  std::vector<std::string> groups = {"1"}, group_balances = {"count"};
  std::vector<std::string> replicated_gradients = {"dense"};
  std::string optimizer, pooling, value_type;  ///< empty: the workload's
  std::string bounds_check = "on";
  std::int64_t batch = 0;  ///< 0: the workload's
  std::string scale = "1";
  std::string steps = "auto";
  double seconds = 5.0;
  std::string check = "2";
  std::int64_t threads = 0;  ///< per rank; 0: the rank's share of its node's cores
  DataOptions data;
  std::vector<std::string> settings;
  double watchdog = 600.0;  ///< seconds; 0: off
  std::string calibration;  ///< file; empty: made in the job when it is needed
  std::string out;
  std::string export_file, traffic_file;  ///< empty: none
  bool dry_run = false;
};

/// Adds the options that `run` and `compare` share; with `lists` (compare) some of them take several values.
void add_case_options(CLI::App& app, CaseArguments& arguments, bool lists);

/// The number that `text` is. InputError naming the option when it is none or below `least`.
std::int64_t count(const std::string& option, const std::string& text, std::int64_t least);

/// The workload and settings that the arguments ask for. Throws InputError.
RunOptions options_of(const CaseArguments& arguments);

/// Checks and measures every combination of plan, transfer and exchange on the ranks of MPI, prints the table and the
/// verdict and writes the results file. Throws Failure with the exit code unless all is well.
void run_cases(const CaseArguments& arguments);

}  // namespace shardmark
