// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/cases/option_table.hpp"
#include "workloads/command/printing.hpp"

namespace shardmark::workloads {

/// The command line of `run` and `compare`, as it was given.
struct CaseArguments {
  std::string workload;
  std::vector<std::string> plans;                ///< empty: the workload's
  bool several = false;                          ///< compare: options of a Case take several values
  std::vector<std::vector<std::string>> values;  ///< of each option of the table; empty where it was not given
  std::vector<std::string> settings;             ///< of --set
  std::int64_t threads = 0;                      ///< per rank; 0: the rank's share of its node's cores
  double watchdog = 600.0;                       ///< seconds; 0: off
  std::string machine;                           ///< by what cases are predicted (machine_choice.hpp)
  std::string out, resume;
  std::string export_file, traffic_file;  ///< empty: none
  bool force = false;                     ///< files that exist are replaced
  bool dry_run = false;
  Printing printing;

  /// Options of the table in its order, then the settings. Throws InputError for settings that are none.
  std::vector<GivenOption> given() const;
};

/// Adds the workload and what says how its data move, what its tables and ids are, and one more option of the table;
/// nothing else of how it is run.
void add_case(CLI::App& app, CaseArguments& arguments, std::string_view also = "");

/// Checks and measures every combination of plan, transfer and exchange on the ranks of MPI, prints the table and the
/// verdict and writes the results file. Throws Failure with the exit code unless all is well.
void run_cases(const CaseArguments& arguments);

}  // namespace shardmark::workloads
