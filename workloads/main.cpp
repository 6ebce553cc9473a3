// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdio>
#include <exception>

#include "reference/error.hpp"
#include "workloads/command.hpp"

namespace shardmark {
namespace {

constexpr std::array commands{
    Command{"run", "check and measure one case", define_run},
    Command{"compare", "check and measure plans, transfers and exchanges side by side", define_compare},
    Command{"list", "what can be named: workloads, planners, transfers, exchanges, optimizers, ...", define_list},
    Command{"results", "results files: show", define_results},
};

/// Exit codes: 0 ok; 1 wrong values; 2 usage or bad input.
int run(int argc, char** argv) {
  CLI::App app("Benchmark and reference suite for distributed embedding learning", "shardmark");
  app.set_version_flag("--version", "0");
  app.require_subcommand(1);
  for (const auto& command : commands)
    command.define(*app.add_subcommand(std::string(command.name), std::string(command.description)));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return 0;
}

}  // namespace
}  // namespace shardmark

int main(int argc, char** argv) {
  try {
    return shardmark::run(argc, argv);
  } catch (const shardmark::Failure& failure) {
    return failure.exit_code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shardmark: %s\n", error.what());
    return 2;
  }
}
