// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>
#include <optional>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/session.hpp"
#include "reference/output_file.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/context.hpp"
#include "workloads/measure/machine_rates.hpp"
#include "workloads/measure/memory.hpp"

namespace shardmark {
namespace {

using Json = nlohmann::ordered_json;

struct CalibrateArguments {
  std::string out;
  RateSizes sizes;
  std::int64_t threads = 0;
};

/// {"min", "max"} over the ranks.
Json over_ranks(const Communicator& world, double value) {
  return {{"min", all_reduce(world, value, Reduce::min)}, {"max", all_reduce(world, value, Reduce::max)}};
}

Json to_json(const Communicator& world, const Rate& rate) {
  Json json{{"name", rate.name}};
  if (rate.dim > 0) json["dim"] = rate.dim;
  json["bytes_per_second"] = over_ranks(world, rate.bytes_per_second);
  if (rate.dim > 0)
    json["setting"] = {{"far", rate.setting.far}, {"near", rate.setting.near}, {"grain", rate.setting.grain}};
  return json;
}

void print(const Json& machine, const Communicator& world) {
  fmt::print("# {} ranks of {} threads, all at once; min and max over the ranks\n", world.size(),
             Execution().concurrency());
  fmt::print("# tables of {} MB per rank, {:.0f} % in huge pages; arrays of {} MB\n",
             machine.at("table_bytes").get<std::int64_t>() / 1000000,
             100 * machine.at("huge_page_share").at("min").get<double>(),
             machine.at("array_bytes").get<std::int64_t>() / 1000000);
  fmt::print("{:<18} {:>4} {:>10} {:>10} {:>14}\n", "ceiling", "dim", "min GB/s", "max GB/s", "min rows/s");
  for (const Json& rate : machine.at("ceilings")) {
    const double low = rate.at("bytes_per_second").at("min");
    const double high = rate.at("bytes_per_second").at("max");
    const std::int64_t dim = rate.value("dim", 0);
    const int directions = rate.at("name") == "gather" ? 1 : 2;
    fmt::print("{:<18} {:>4} {:>10.2f} {:>10.2f} {:>14}\n", rate.at("name").get<std::string>(),
               dim > 0 ? fmt::format("{}", dim) : "-", low * 1e-9, high * 1e-9,
               dim > 0 ? fmt::format("{:.4g}", low / static_cast<double>(4 * directions * dim)) : "-");
  }
}

int run_on(const Communicator& world, const CalibrateArguments& arguments) {
  const Affinity affinity = agree(world, observed_affinity);
  const Kokkos::ScopeGuard kokkos(kokkos_settings(world, affinity, arguments.threads));
  require_memory(world, static_cast<double>(arguments.sizes.table_bytes + 3 * arguments.sizes.array_bytes), "calibrate",
                 "--table, --array");
  std::optional<OutputFile> file;
  std::ofstream stream;
  agree(world, [&] {
    if (world.rank() != 0 || arguments.out.empty()) return;
    file.emplace(arguments.out);
    stream.open(file->path());
    if (!stream) throw InputError(arguments.out + ": cannot write this file");
  });

  const MachineRates measured = machine_rates(world, arguments.sizes);
  Json machine{{"format", "shardmark-machine/1"},
               {"table_bytes", arguments.sizes.table_bytes},
               {"array_bytes", arguments.sizes.array_bytes},
               {"rows", arguments.sizes.rows},
               {"rounds", arguments.sizes.rounds},
               {"huge_page_share", over_ranks(world, measured.huge_page_share)},
               {"ceilings", Json::array()}};
  for (const Rate& rate : measured.rates) machine["ceilings"].push_back(to_json(world, rate));
  machine["environment"] = environment_record(run_context(world, affinity, 0));
  agree(world, [&] {
    if (world.rank() == 0) print(machine, world);
    if (!file) return;
    stream << machine.dump(2) << '\n';
    stream.close();
    if (!stream) throw InputError(arguments.out + ": cannot write this file");
    file->commit();
  });
  return 0;
}

}  // namespace

void define_calibrate(CLI::App& app) {
  const auto arguments = std::make_shared<CalibrateArguments>();
  app.add_option("--out", arguments->out,
                 "write the rates and what they were measured on as JSON, such as machine.json");
  app.add_option("--table", arguments->sizes.table_bytes, "size of the table whose rows are read, per rank")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("2G");
  app.add_option("--array", arguments->sizes.array_bytes, "size of each of the arrays that are streamed, per rank")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("256M");
  app.add_option("--rows", arguments->sizes.rows, "rows of one round")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--rounds", arguments->sizes.rounds, "rounds, of which the best counts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--threads", arguments->threads,
                 "threads per rank (default: OMP_NUM_THREADS, or the cores it may use / the ranks that share them)")
      ->check(CLI::PositiveNumber);
  app.callback([arguments] {
    if (arguments->sizes.table_bytes < 1 << 20 || arguments->sizes.array_bytes < 1 << 10)
      throw InputError("calibrate: --table must be at least 1M and --array 1K");
    const int code = with_mpi([&](const Communicator& world) { return run_on(world, *arguments); });
    if (code != 0) throw Failure{code};
  });
}

}  // namespace shardmark
