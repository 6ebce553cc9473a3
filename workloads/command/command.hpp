// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace shardmark::workloads {

/// A subcommand of the program. define() adds its options to `app` and sets its callback, which throws InputError on
/// bad input (exit code 2) and Failure on wrong values (exit code 1).
struct Command {
  std::string_view name;
  std::string_view description;
  void (*define)(CLI::App& app);
};

/// Ends the program with an exit code; what there is to say has been printed. 1: the verdict is negative.
struct Failure {
  int exit_code = 1;
};

/// `what`, and a line per choice and setting of a choice, for --help.
template <class Choices>
std::string described(std::string what, const Choices& choices) {
  what += ":";
  for (const auto& choice : choices) {
    what += "\n" + std::string(choice.name) + ": " + std::string(choice.description);
    if constexpr (requires { choice.settings; })
      for (const auto& setting : choice.settings)
        what += "\n  " + std::string(choice.name) + ':' + setting.spelled() + ": " + std::string(setting.description);
  }
  return what;
}

/// For commands that ask the parser for no more than this: its header takes seconds to compile.
void add_word(CLI::App& app, const char* name, std::string& word, const char* description);
void when_parsed(CLI::App& app, const std::function<void()>& action);

/// Adds --force to a command that writes files; what it allows is decided by require_new() (reference/output_file.hpp).
void add_force(CLI::App& app, bool& force);

void define_calibrate(CLI::App& app);
void define_checkpoint(CLI::App& app);
void define_compare(CLI::App& app);
void define_completion(CLI::App& app);
void define_data(CLI::App& app);
void define_data_import(CLI::App& app);        ///< a command of `data`
void define_data_tensor_train(CLI::App& app);  ///< a command of `data`
void define_data_statistics(CLI::App& app);    ///< a command of `data`
void define_doctor(CLI::App& app);
void define_exchange(CLI::App& app);
void define_help(CLI::App& app);
void define_list(CLI::App& app);
void define_machine(CLI::App& app);
void define_plan(CLI::App& app);
void define_predict(CLI::App& app);
void define_results(CLI::App& app);
void define_results_audit(CLI::App& app);  ///< of results
void define_results_diff(CLI::App& app);
void define_results_floors(CLI::App& app);
void define_results_plot(CLI::App& app);
void define_run(CLI::App& app);
void define_workload(CLI::App& app);

}  // namespace shardmark::workloads
