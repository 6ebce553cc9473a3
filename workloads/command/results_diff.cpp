// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "reference/error.hpp"
#include "reference/named.hpp"
#include "results/comparability.hpp"
#include "results/comparison.hpp"
#include "results/comparison_formats.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/quantity.hpp"

namespace shardmark::workloads {
namespace {

using Paths = std::vector<std::filesystem::path>;

struct DiffArguments {
  Paths files, old_files, new_files, aa_files;
  std::string min_effect = "3%", fail_above;
  double alpha = 0.05;
  bool paired = false;
  bool strict = false;
  std::string counter, format = "text";
  std::vector<std::string> allowed;
};

/// OLD NEW... into --old and --new.
void sort_out(DiffArguments& given) {
  const bool by_side = !given.old_files.empty() || !given.new_files.empty();
  if (!given.files.empty() && by_side)
    throw InputError("files both as OLD NEW... and as --old, --new; name them one way");
  if (!given.files.empty()) {
    given.old_files.assign(given.files.begin(), given.files.begin() + 1);
    given.new_files.assign(given.files.begin() + 1, given.files.end());
  }
  if (given.old_files.empty() || given.new_files.empty())
    throw InputError("launches of OLD and of NEW are needed; see shardmark results diff --help");
}

/// Exit code 3 unless every difference is allowed.
void require_comparable(const std::vector<results::Disagreement>& differing, const std::vector<std::string>& allowed) {
  bool comparable = true;
  for (const results::Disagreement& each : differing) {
    const bool may = std::ranges::any_of(allowed, [&](const auto& key) { return key == each.key || key == "all"; });
    fmt::print(stderr, "shardmark: {}{}\n", each.text,
               may ? "" : fmt::format("; --allow {} compares all the same", each.key));
    comparable = comparable && may;
  }
  if (!comparable) throw Failure{3};
}

std::string heading(const std::vector<results::Launch>& old_launches, const std::vector<results::Launch>& new_launches,
                    std::size_t aa_count, const results::ComparisonOptions& options) {
  const auto side = [](const char* name, const std::vector<results::Launch>& launches) {
    const std::string& revision = launches.front().revision;
    return fmt::format("{}: {} {}{}", name, launches.size(), launches.size() == 1 ? "launch" : "launches",
                       revision.empty() ? "" : " of " + revision.substr(0, 12));
  };
  return fmt::format("{}; {}; {}; floors from {}; smallest effect {:g} %, alpha {:g}", side("OLD", old_launches),
                     side("NEW", new_launches), options.paired ? "in pairs" : "not in pairs",
                     aa_count > 0 ? fmt::format("{} A/A launches", aa_count) : "OLD", options.min_effect * 100.0,
                     options.alpha);
}

void diff(DiffArguments arguments) {
  sort_out(arguments);
  const results::ComparisonFormat& format = choice_named(results::comparison_formats, "format", arguments.format);
  results::ComparisonOptions options{
      share_of("--min-effect", arguments.min_effect), arguments.alpha, arguments.paired, {}};
  if (!arguments.fail_above.empty()) options.fail_above = share_of("--fail-above", arguments.fail_above);
  const auto old_launches = results::read_launches(arguments.old_files, arguments.counter);
  const auto new_launches = results::read_launches(arguments.new_files, arguments.counter);
  const auto aa_launches = results::read_launches(arguments.aa_files, arguments.counter);
  require_comparable(results::disagreements(old_launches, new_launches, aa_launches), arguments.allowed);
  const auto cases = results::compare(old_launches, new_launches, aa_launches, options);
  const auto counts = results::count_changes(cases);
  const auto of = [&](results::Change change) { return counts[index_of(change)]; };
  if (of(results::Change::missing) == std::ssize(cases)) {
    fmt::print(stderr, "shardmark: OLD and NEW have no case in common\n");
    throw Failure{3};
  }
  fmt::print("{}", format.print({cases, heading(old_launches, new_launches, aa_launches.size(), options),
                                 options.fail_above, arguments.strict}));
  if (std::ranges::any_of(cases, [&](const auto& each) { return results::fails_gate(each, arguments.strict); }))
    throw Failure{1};
}

void print_floors(const Paths& files, const std::string& counter) {
  const auto launches = results::read_launches(files, counter);
  fmt::print("{}", results::floors_text(results::baseline_floors(launches), std::ssize(launches)));
}

}  // namespace

void define_results_floors(CLI::App& app) {
  const auto files = std::make_shared<Paths>();
  const auto counter = std::make_shared<std::string>();
  app.add_option("FILES", *files, "launches of one program in the order they ran: files or folders")->required();
  app.add_option("--counter", *counter, "as of results diff");
  app.callback([files, counter] { print_floors(*files, *counter); });
}

void define_results_diff(CLI::App& app) {
  app.footer(
      "Exit code: 0 no case is worse, 1 one is (--strict: or unclear, or missing; --fail-above: or slower than that), "
      "2 bad input, 3 not comparable.");
  const auto arguments = std::make_shared<DiffArguments>();
  app.add_option("FILES", arguments->files, "OLD, then one or more of NEW: files or folders, a file is a launch");
  app.add_option("--old", arguments->old_files, "launches of OLD: files or folders");
  app.add_option("--new", arguments->new_files, "launches of NEW: files or folders");
  app.add_option("--aa", arguments->aa_files, "launches of one program in the order they ran; noise floors from them");
  app.add_flag("--strict", arguments->strict, "exit code 1 also for a case that is unclear or missing");
  app.add_option(
      "--fail-above", arguments->fail_above,
      "such as 10%: exit code 1 also for a case that is slower by more, its interval above 1, whatever the noise");
  app.add_flag("--paired", arguments->paired, "launch i of OLD ran next to launch i of NEW");
  app.add_option("--counter", arguments->counter,
                 "counter of Google Benchmark that takes the place of its time, such as median_us");
  app.add_option("--format", arguments->format, described("what is printed", results::comparison_formats))
      ->capture_default_str();
  app.add_option("--min-effect", arguments->min_effect, "smallest effect of interest")->capture_default_str();
  app.add_option("--alpha", arguments->alpha, "chance of a false alarm in the whole table")
      ->check(CLI::Range(0.001, 0.5))
      ->capture_default_str();
  app.add_option("--allow", arguments->allowed, "compare although these differ: host_name, flags, ... or all")
      ->delimiter(',');
  app.callback([arguments] { diff(*arguments); });
}

}  // namespace shardmark::workloads
