// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace shardmark::workloads {

/// Runs the command that the arguments of main() name, and prints what went wrong. Returns the exit code: 0 ok; 1 wrong
/// values or a regression; 2 usage or bad input; 3 not comparable; 4 what is none of the user's business: MPI, memory,
/// a bug.
int run_program(std::span<char*> arguments);

}  // namespace shardmark::workloads
