// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/case_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>

#include "comm/device_memory.hpp"
#include "comm/placement/exchange_shapes.hpp"
#include "reference/named.hpp"
#include "reference/number.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/config_file.hpp"
#include "workloads/command/help_format.hpp"
#include "workloads/command/machine_choice.hpp"
#include "workloads/step/watchdog.hpp"

namespace shardmark::workloads {
namespace {

/// For durations and counts on the command line.
std::string check_positive(const std::string& text) {
  const auto value = number_in<double>(text);
  return value && *value > 0.0 && std::isfinite(*value) ? "" : fmt::format("'{}' is not a number above 0", text);
}

/// `compare` tries these when it is not told: the library's; the one that chooses among the others by their messages,
/// since all of them would take most of the time; and the one by loads, which spares steps more than messages. On GPUs
/// those that read their memory.
std::vector<std::string> usual_exchanges() {
  if (comm::built_for_gpus()) return {"auto", "host_staged"};
  std::vector<std::string> usual;
  for (const placement::ExchangeShape& shape : placement::exchange_shapes)
    if (shape.chooses || shape.by_loads || shape.name == placement::library_exchange) usual.emplace_back(shape.name);
  return usual;
}

/// The headings of --help, by OptionGroup.
constexpr std::array headings{
    "How data move",
    "Tables and features (default: the workload's)",
    "Tables of storage tt, tensor trains (default: the workload's)",
    "Ids that are generated (default: the workload's)",
    "Layers that are trained (--dense mlp, dlrm, dcnv2)",
    "Samples from a file",
    "What else makes a case",
    "How it is measured",
};
static_assert(headings.size() == index_of(OptionGroup::schedule) + 1);

/// Are the options that --help shows of run and compare.
constexpr std::array<std::string_view, 20> usual_options{
    "--plan",   "--transfer", "--exchange", "--wire",      "--groups",  "--async",  "--batch",
    "--scale",  "--dim",      "--storage",  "--optimizer", "--hotness", "--dense",  "--data",
    "--budget", "--check",    "--threads",  "--out",       "--format",  "--dry-run"};

std::string help_of(const Option& option) {
  constexpr std::size_t one_line = 60;
  if (option.valid.size() <= one_line) return fmt::format("{}: {}", option.description, option.valid);
  return fmt::format("{} (shardmark list {})", option.description, option.list_name());
}

/// The options of the table that are wanted.
void add_table(CLI::App& app, CaseArguments& arguments, const std::function<bool(const Option&)>& wanted) {
  arguments.values.resize(options().size());
  for (std::size_t i = 0; i < options().size(); ++i) {
    const Option& option = options()[i];
    if (!wanted(option)) continue;
    const bool list = arguments.several && option.several;
    CLI::Option* added = app.add_option(option.flag(), arguments.values[i], help_of(option));
    // Else "[8,16]" would be two values to the parser, and its message would not say what is valid.
    list ? added->delimiter(',') : added->expected(1)->allow_extra_args(false);
    const std::string usual = arguments.several && option.name == "exchange"
                                  ? fmt::format("{}", fmt::join(usual_exchanges(), ","))
                                  : option.usual();
    added->group(headings[index_of(option.group)])->type_name(std::string(option.value_name))->default_str(usual);
  }
}

/// Throws InputError where a command of one case is told to take all values of an option.
void require_one(const std::vector<GivenOption>& given) {
  for (const GivenOption& each : given)
    if (each.option->several && each.values.front() == "all")
      throw InputError(
          fmt::format("{}: this command takes one; shardmark compare takes several", each.as_given("all")));
}

/// Throws InputError where two options set the same.
void require_apart(const std::vector<GivenOption>& given) {
  for (const GivenOption& each : given)
    for (const GivenOption& other : given)
      if (std::ranges::find(each.option->sets, other.option->name) != each.option->sets.end())
        throw InputError(fmt::format("{} and {} both set {}; leave one of them out", each.as_given(each.values.front()),
                                     other.as_given(other.values.front()), other.option->name));
}

void add_rest(CLI::App& app, CaseArguments& a) {
  app.add_option("--threads", a.threads,
                 "threads per rank (default: OMP_NUM_THREADS, or the cores it may use / the ranks that share them)")
      ->check(check_positive);
  app.add_option("--watchdog", a.watchdog, std::string(watchdog_help))
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--machine", a.machine, std::string(machine_help))
      ->envname("SHARDMARK_MACHINE")
      ->capture_default_str();
  app.add_option("--out", a.out, "results file (default: results/local/WORKLOAD-TIME.jsonl)")->type_name("FILE");
  app.add_option("--resume", a.resume,
                 "go on where a job with the same options stopped: FILE.partial that it left, or its file if it was "
                 "interrupted; what it measured is not measured again")
      ->type_name("FILE");
  add_force(app, a.force);
  add_printing(app, a.printing);
  app.add_flag("--dry-run", a.dry_run, "print the workload in full and stop; needs no MPI");
}

void add_workload(CLI::App& app, CaseArguments& a) {
  app.add_option("WORKLOAD", a.workload, "built-in workload (shardmark list workloads) or spec file ending in .json")
      ->required();
  app.add_option("--set", a.settings, "any of the options (shardmark list options); repeatable")
      ->type_name("KEY=VALUE");
}

std::shared_ptr<CaseArguments> define(CLI::App& app, bool several) {
  auto arguments = std::make_shared<CaseArguments>();
  arguments->several = several;
  arguments->machine = several ? "auto" : "known";
  add_workload(app, *arguments);
  add_config(app);
  add_rest(app, *arguments);
  add_table(app, *arguments, [](const Option&) { return true; });
  app.callback([arguments] { run_cases(*arguments); });
  return arguments;
}

}  // namespace

std::vector<GivenOption> CaseArguments::given() const {
  std::vector<GivenOption> given;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Option& option = options()[i];
    if (!values[i].empty())
      given.push_back({&option, values[i], option.flag()});
    else if (several && option.name == "exchange")
      given.push_back({&option, usual_exchanges(), option.flag()});
  }
  for (const std::string& text : settings) given.push_back(given_setting(text, several));
  require_apart(given);
  if (!several) require_one(given);
  return given;
}

void add_case(CLI::App& app, CaseArguments& arguments, std::string_view also) {
  add_workload(app, arguments);
  add_table(app, arguments, [also](const Option& option) {
    using enum OptionGroup;
    return option.name == also || (option.group != run && option.group != dense && option.group != schedule);
  });
}

void define_run(CLI::App& app) {
  const auto arguments = define(app, false);
  arguments->plans = {"table_wise"};
  app.add_option("--plan", arguments->plans.front(),
                 "planner (shardmark list planners), with settings as NAME:SETTING=VALUE:..., or plan file")
      ->capture_default_str();
  app.add_option("--export", arguments->export_file, "write one whole step, for others to check")->type_name("FILE.h5");
  app.add_option("--traffic", arguments->traffic_file,
                 "write the bytes from rank to rank of one whole step to FILE, and those of each phase to FILE.PHASE, "
                 "for shardmark exchange --matrix and nccl-tests")
      ->type_name("FILE");
  shorten_help(app, usual_options,
               "Examples:\n"
               "  shardmark run criteo-kaggle --scale 1/64                       check and time one plan\n"
               "  mpiexec -n 4 shardmark run my.json --plan row_wise --wire fp16   4 ranks, half as many bytes\n"
               "  shardmark run criteo-kaggle --data day_0.gz --dense dlrm       train on a file, with loss and AUC\n");
}

void define_compare(CLI::App& app) {
  app.footer(
      "Options of how data move, --storage and --dense-math take several values, separated by commas, or all. Plans "
      "that split no rows are measured with the first transfer. A plan that one of several storages cannot do is "
      "measured with the others.");
  app.add_option("--plan", define(app, true)->plans,
                 "planners, with settings as NAME:SETTING=VALUE:..., or plan files, separated by commas; all: of every "
                 "planner that can place the tables, plans alike once (default: the workload's)")
      ->delimiter(',');
  shorten_help(app, usual_options,
               "Examples:\n"
               "  mpiexec -n 2 shardmark compare criteo-kaggle --budget 2m            its usual plans\n"
               "  mpiexec -n 8 shardmark compare my.json --plan all --budget 10m      every planner on your tables\n"
               "  mpiexec -n 8 shardmark compare my.json --plan best.json --exchange all --wire fp32,fp16\n");
}

void add_word(CLI::App& app, const char* name, std::string& word, const char* description) {
  app.add_option(name, word, description);
}

void when_parsed(CLI::App& app, const std::function<void()>& action) { app.callback(action); }

void add_force(CLI::App& app, bool& force) { app.add_flag("--force", force, "replace files that exist"); }

}  // namespace shardmark::workloads
