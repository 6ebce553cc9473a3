// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/program.hpp"

int main(int argc, char** argv) { return shardmark::workloads::run_program({argv, static_cast<std::size_t>(argc)}); }
