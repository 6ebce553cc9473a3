// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "results/results_table.hpp"

namespace CLI {
class App;
}

namespace shardmark::workloads {

/// How `run`, `compare` and `results show` print what was measured.
struct Printing {
  std::string format = std::string(results::results_formats.front().name);
  bool all = false;  ///< every case
};

void add_printing(CLI::App& app, Printing& printing);

/// Whether people see what this process writes to stdout. `launched`: by an MPI launcher, whose own stdout counts too:
/// it gives its processes a terminal even where it writes to a file. It is the first of our ancestors with another
/// stdout.
bool stdout_is_terminal(bool launched);

/// Prints to stdout, emphasised on a terminal unless NO_COLOR is set; for a format without a verdict that goes to
/// stderr.
void print_results(std::span<const results::Report> reports, const Printing& printing, bool terminal);

}  // namespace shardmark::workloads
