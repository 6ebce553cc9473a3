// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <thread>

#include "reference/error.hpp"
#include "reference/named.hpp"
#include "results/build_info.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/config_file.hpp"
#include "workloads/command/help_format.hpp"
#include "workloads/command/launcher.hpp"
#include "workloads/command/shared_processors.hpp"

namespace shardmark::workloads {
namespace {

constexpr std::array commands{
    Command{"run", "check and measure one case", define_run},
    Command{"compare", "check and measure plans, transfers and exchanges side by side", define_compare},
    Command{"exchange", "measure the exchanges alone: sizes, skews, a traffic matrix", define_exchange},
    Command{"calibrate", "measure how fast this machine moves memory and rows of tables", define_calibrate},
    Command{"doctor", "what this machine gives, and what to change", define_doctor},
    Command{"workload", "write a spec of your own tables; the schema of specs; needs no MPI", define_workload},
    Command{"plan", "create, show, check and convert plans; needs no MPI", define_plan},
    Command{"predict", "what a step would take on so many ranks of a machine; needs no MPI", define_predict},
    Command{"machine", "describe a machine by its data sheet, or convert one; needs no MPI", define_machine},
    Command{"data", "generate, convert and inspect training data; needs no MPI", define_data},
    Command{"checkpoint", "show, verify, compare and merge checkpoints; needs no MPI", define_checkpoint},
    Command{"list", "what can be named: workloads, planners, transfers, exchanges, optimizers, ...", define_list},
    Command{"results", "print and draw results files; compare launches", define_results},
    Command{"help", "what a command does, and its options", define_help},
    Command{"completion", "print what completes commands in a shell, or a man page", define_completion},
};

struct Named {
  std::string name;
  const CLI::App* app;
};

/// "shardmark plan create".
std::string path_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : path_of(*app.get_parent()) + " " + app.get_name();
}

/// The command that is called, and its arguments. Names the choices when a command or subcommand is not one of them;
/// the parser would only say that one is missing.
struct Called {
  const CLI::App* command;
  std::vector<std::string> names;      ///< of the commands
  std::vector<std::string> arguments;  ///< of the last one, those of its --config among them

  Called(const CLI::App& app, std::span<char*> rest) : command(&app) {
    while (!rest.empty() && command->get_require_subcommand_min() > 0) {
      const std::string_view argument(rest.front());
      if (argument.starts_with("-")) break;
      std::vector<Named> choices;
      for (const CLI::App* choice : command->get_subcommands({})) choices.push_back({choice->get_name(), choice});
      command = choice_named(choices, "command", argument).app;
      names.emplace_back(argument);
      rest = rest.subspan(1);
    }
    arguments = with_config_files(*command, {rest.begin(), rest.end()});
  }

  /// The parser would only say that one is missing.
  void require_command() const {
    if (command->get_require_subcommand_min() == 0 || !arguments.empty()) return;
    std::vector<std::string> choices;
    for (const CLI::App* choice : command->get_subcommands({})) choices.push_back(choice->get_name());
    throw InputError(fmt::format("a command is needed: {}; {}", fmt::join(choices, ", "), help()));
  }

  /// Returns all, the last one first, as the parser takes them.
  std::vector<std::string> reversed() const {
    std::vector<std::string> all(arguments.rbegin(), arguments.rend());
    all.insert(all.end(), names.rbegin(), names.rend());
    return all;
  }

  std::string help() const { return fmt::format("see {} --help", path_of(*command)); }

  /// The parser would take an unknown option for a stray argument, or only say which other one is missing.
  void check_options() const {
    const std::vector<std::string_view> valid = option_names(*command);
    for (const std::string_view argument : arguments) {
      if (argument == "--") return;
      if (!argument.starts_with("--")) continue;
      const std::string_view name = argument.substr(2, argument.find('=') - 2);
      if (std::ranges::find(valid, name) != valid.end()) continue;
      const std::string_view meant = option_meant(*command, name);
      throw InputError(fmt::format("unknown option '--{}'; {}{}", name,
                                   meant.empty() ? "" : fmt::format("did you mean '--{}'? ", meant), help()));
    }
  }
};

int run_command(int argc, char** argv) {
  CLI::App app("Benchmark and reference suite for distributed embedding learning", "shardmark");
  format_help(app);
  const results::BuildInfo build = results::build_info();
  app.set_version_flag("--version", fmt::format("shardmark {} {}", build.version, build.git_hash.substr(0, 12)));
  app.require_subcommand(1);
  for (const auto& command : commands)
    command.define(*app.add_subcommand(std::string(command.name), std::string(command.description)));
  const Called called(app, std::span(argv, argc).subspan(1));
  called.require_command();
  called.check_options();
  try {
    app.parse(called.reversed());
  } catch (const CLI::Success& help_or_version) {
    return speaks() ? app.exit(help_or_version) : 0;
  } catch (const CLI::ArgumentMismatch& error) {
    std::string text = error.what();  // "--plan: 1 required TEXT missing"
    if (text.ends_with(" missing")) text = text.substr(0, text.find(':')) + ": its value is missing";
    throw InputError(fmt::format("{}; {}", text, called.help()));
  } catch (const CLI::ParseError& error) {
    throw InputError(fmt::format("{}; {}", error.what(), called.help()));
  }
  return 0;
}

int fail(const std::exception& error, int exit_code) {
  if (speaks())
    fmt::print(stderr, "shardmark: {}\n", error.what());
  else  // a launcher that sees this process end ends the others, rank 0 before it could speak
    std::this_thread::sleep_for(std::chrono::seconds(2));
  return exit_code;
}

int exit_code_of(int argc, char** argv) {
  try {
    return run_command(argc, argv);
  } catch (const Failure& failure) {
    return failure.exit_code;
  } catch (const InputError& error) {
    return fail(error, 2);
  } catch (const std::exception& error) {
    return fail(error, 4);
  }
}

}  // namespace

int run_program(std::span<char*> arguments) {
  wait_passively_where_processors_are_shared(arguments);
  const int code = exit_code_of(static_cast<int>(arguments.size()), arguments.data());
  // What has been printed may still be in a buffer, or may have been lost from one.
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  return code == 0 ? fail(std::runtime_error("cannot write all to standard output; is the disk full?"), 4) : code;
}

}  // namespace shardmark::workloads
