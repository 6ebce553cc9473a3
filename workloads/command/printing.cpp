// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/printing.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "reference/named.hpp"
#include "workloads/command/command.hpp"

namespace shardmark::workloads {
namespace {

std::string stdout_of(int process) {
  std::error_code error;
  return std::filesystem::read_symlink(fmt::format("/proc/{}/fd/1", process), error).string();
}

/// 0 where it cannot be read.
int parent_of(int process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  std::istringstream after_name(text.substr(text.rfind(')') + 1));  // "state parent ..."
  std::string state;
  int parent = 0;
  after_name >> state >> parent;
  return parent;
}

}  // namespace

void add_printing(CLI::App& app, Printing& printing) {
  app.add_option("--format", printing.format, described("how results are printed", results::results_formats))
      ->capture_default_str()
      ->check([](const std::string& name) {
        choice_named(results::results_formats, "format", name);
        return std::string();
      });
  app.add_flag(
      "--all", printing.all,
      "print every case, not only the best of each plan, and the predicted phases of each, not only of the best");
}

bool stdout_is_terminal(bool launched) {
  if (isatty(STDOUT_FILENO) == 0) return false;
  if (!launched) return true;
  const std::string own = stdout_of(getpid());
  for (int process = getppid(); process > 1; process = parent_of(process))
    if (const std::string other = stdout_of(process); other != own)
      return other.starts_with("/dev/pts/") || other.starts_with("/dev/tty");
  return true;
}

void print_results(std::span<const results::Report> reports, const Printing& printing, bool terminal) {
  const char* no_color = std::getenv("NO_COLOR");
  const bool emphasis = terminal && (!no_color || *no_color == '\0');
  const results::ResultsFormat& format = choice_named(results::results_formats, "format", printing.format);
  fmt::print("{}", format.print(reports, {.all = printing.all, .emphasis = emphasis}));
  if (format.print == results::as_csv)
    for (const results::Report& report : reports)
      if (const std::string line = results::result_line(report); !line.empty())
        fmt::print(stderr, "shardmark: {}\n", line);
}

}  // namespace shardmark::workloads
