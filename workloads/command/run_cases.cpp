// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "comm/affinity.hpp"
#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/exchange/exchanges.hpp"
#include "comm/placement/named_plan.hpp"
#include "comm/session.hpp"
#include "results/environment.hpp"
#include "results/json_lines.hpp"
#include "results/table.hpp"
#include "results/verdict.hpp"
#include "workloads/command.hpp"
#include "workloads/command/case_options.hpp"
#include "workloads/export.hpp"
#include "workloads/measure.hpp"
#include "workloads/memory.hpp"

namespace shardmark {
namespace {

using Json = nlohmann::ordered_json;

/// The given names, or all of the table for "all"; unknown ones are refused.
template <class Choices>
std::vector<std::string> names_of(const Choices& choices, std::string_view what,
                                  const std::vector<std::string>& given) {
  std::vector<std::string> names;
  for (const std::string& name : given) {
    if (name != "all") {
      names.emplace_back(choice_named(choices, what, name).name);
      continue;
    }
    for (const auto& choice : choices) names.emplace_back(choice.name);
  }
  return names;
}

/// Everything that is known before the measurement starts.
struct Setup {
  RunOptions options;
  std::vector<Plan> plans;
  std::vector<Case> cases;
};

Setup set_up(const CaseArguments& arguments, int ranks) {
  Setup setup{.options = options_of(arguments), .plans = {}, .cases = {}};
  const Workload& workload = setup.options.workload;
  const auto& plans = arguments.plans.empty() ? workload.plans : arguments.plans;
  if (plans.empty()) throw InputError(workload.name + ": the spec names no plans; use --plan");
  for (const std::string& plan : plans)
    setup.plans.push_back(named_plan(plan, workload.tables, workload.features,
                                     {.ranks = ranks, .replicate_rows = workload.replicate_rows}));
  for (std::size_t plan = 0; plan < setup.plans.size(); ++plan)
    for (const std::string& transfer : names_of(transfers, "transfer", arguments.transfers))
      for (const std::string& exchange : names_of(exchanges, "exchange", arguments.exchanges))
        setup.cases.push_back({plan, {transfer, exchange}});
  return setup;
}

Json libraries() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> mpi{};
  int length = 0;
  MPI_Get_library_version(mpi.data(), &length);
  const std::string version(mpi.data());
  std::ostringstream kokkos;
  Kokkos::print_configuration(kokkos);
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return {{"mpi", version.substr(0, version.find(','))},
          {"kokkos", fmt::format("{}.{}.{}", KOKKOS_VERSION / 10000, KOKKOS_VERSION / 100 % 100, KOKKOS_VERSION % 100)},
          {"kokkos_configuration", kokkos.str()},
          {"hdf5", fmt::format("{}.{}.{}", major, minor, release)}};
}

/// Where every rank may run, as it is now.
Json observed_ranks(const Communicator& world, const Affinity& affinity) {
  const auto units = all_gather(world, affinity.processing_units);
  const auto threads = all_gather(world, static_cast<std::int64_t>(Execution().concurrency()));
  Json ranks = Json::array();
  for (int r = 0; r < world.size(); ++r)
    ranks.push_back({{"rank", r},
                     {"host", world.host_of(r)},
                     {"cpus", units[static_cast<std::size_t>(r)]},
                     {"threads", threads[static_cast<std::size_t>(r)]}});
  return ranks;
}

/// Rank 0's line on stderr: in place on a terminal, else at most one line every 10 seconds.
Status status_line(const Communicator& world) {
  if (world.rank() != 0) return [](const std::string&) {};
  if (isatty(STDERR_FILENO))
    return [](const std::string& text) { fmt::print(stderr, "\r\033[K{}\r", text), std::fflush(stderr); };
  return [last = -10.0](const std::string& text) mutable {
    if (MPI_Wtime() - last < 10.0) return;
    last = MPI_Wtime();
    fmt::print(stderr, "shardmark: {}\n", text);
  };
}

Json details_of(const RunOptions& options, const BatchSource& batches) {
  return {{"seed", options.seed},
          {"exact", options.exact},
          {"batches", options.batches},
          {options.data.file.empty() ? "ids" : "data", batches.description()}};
}

/// argv, from the kernel: the command is far from main here.
std::vector<std::string> command_line() {
  std::vector<std::string> arguments;
  std::ifstream file("/proc/self/cmdline");
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

int run_on(const Communicator& world, const CaseArguments& arguments) {
  const Affinity affinity = agree(world, observed_affinity);
  int threads = threads_for_rank(world, affinity);
  if (const char* wanted = std::getenv("OMP_NUM_THREADS")) threads = std::max(1, std::atoi(wanted));
  if (arguments.threads > 0) threads = static_cast<int>(arguments.threads);
  const auto kokkos_settings = Kokkos::InitializationSettings().set_num_threads(threads).set_disable_warnings(true);
  const Kokkos::ScopeGuard kokkos(kokkos_settings);
  const Status status = status_line(world);

  const Setup setup = agree(world, [&] { return set_up(arguments, world.size()); });
  const RunOptions& options = setup.options;
  const auto batches = agree(world, [&] {
    return make_batch_source(options, [&](const std::string& text) {
      if (world.rank() == 0) fmt::print(stderr, "shardmark: {}\n", text);
    });
  });
  for (const Plan& plan : setup.plans) require_memory(world, plan, options);
  if (!arguments.export_file.empty())
    export_step(world, options, setup.plans.front(), setup.cases.front().movement, *batches, arguments.export_file);
  Json environment = environment_record({.arguments = command_line(),
                                         .seed = options.seed,
                                         .ranks = observed_ranks(world, affinity),
                                         .libraries = libraries()});
  if (options.workload.published) environment["published"] = to_json(*options.workload.published);
  std::optional<JsonLinesWriter> writer;
  agree(world, [&] {
    if (world.rank() != 0) return;
    const auto file = arguments.out.empty()
                          ? default_results_file(options.workload.name, environment.at("time").get<std::string>())
                          : std::filesystem::path(arguments.out);
    writer.emplace(file, environment);
  });

  auto records = measure(world, options, setup.plans, setup.cases, *batches, status);
  agree(world, [&] {
    if (!writer) return;
    for (CaseRecord& record : records) {
      record.details = details_of(options, *batches);
      writer->append(record);
    }
    writer->close();
  });
  if (writer) {
    status("");
    fmt::print("{}", results_table(environment, records));
    std::fflush(stdout);
  }
  return verdict_of(records).valid ? 0 : 1;
}

}  // namespace

void run_cases(const CaseArguments& arguments) {
  if (arguments.dry_run) {
    fmt::print("{}\n", to_json(options_of(arguments).workload).dump(2));
    return;
  }
  const int code = with_mpi([&](const Communicator& world) { return run_on(world, arguments); });
  if (code != 0) throw Failure{code};
}

}  // namespace shardmark
