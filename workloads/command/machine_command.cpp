// SPDX-License-Identifier: Apache-2.0
// `machine describe`: the description of a machine that is not at hand, from its data sheet. `machine convert`: a
// machine in the format of another program.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "comm/placement/cost/machine_file.hpp"
#include "comm/placement/formats/torchrec_topology.hpp"
#include "comm/placement/plan.hpp"
#include "reference/error.hpp"
#include "reference/output_file.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/launcher.hpp"
#include "workloads/command/machine_options.hpp"
#include "workloads/command/quantity.hpp"

namespace shardmark::workloads {
namespace {

struct DescribeArguments {
  MachineOptions machine;
  std::optional<double> cores;
  std::optional<std::uint64_t> memory;
  std::string memory_bandwidth, out;
  bool force = false;
};

void describe(const DescribeArguments& arguments) {
  placement::DataSheet sheet = arguments.machine.sheet();
  sheet.cores = arguments.cores;
  if (!arguments.memory_bandwidth.empty())
    sheet.memory_bytes_per_second = option_value("--memory-bandwidth", arguments.memory_bandwidth, rate_in);
  if (arguments.memory) sheet.memory = static_cast<double>(*arguments.memory);
  const placement::MachineModel like = placement::named_machine(arguments.machine.machine);
  auto [machine, rules] = placement::described_machine(like, sheet);
  if (machine == like)
    throw InputError(
        fmt::format("the data sheet says nothing; give --cores, --memory-bandwidth, --links, --latency, "
                    "--ranks-per-node or --memory"));
  machine.measured = false;
  machine.source = "described, not measured: as " + like.name + machine.source.substr(like.source.size());
  machine.name = arguments.out.empty() ? "described" : std::filesystem::path(arguments.out).stem().string();
  rules.push_back(fmt::format("all else is that of {}: {}", like.name, like.source));
  nlohmann::ordered_json json = placement::to_json(machine);
  json["derivation"] = rules;
  const std::string text = json.dump(2) + "\n";
  if (arguments.out.empty()) {
    fmt::print("{}", text);
    return;
  }
  require_alone("machine describe");
  if (!arguments.out.ends_with(".json"))
    throw InputError(fmt::format("--out {}: name a file that ends in .json", arguments.out));
  require_new(arguments.out, arguments.force);
  write_file(arguments.out, text);
  fmt::print("wrote {}: {}\n", arguments.out, machine.source);
  for (const std::string& rule : rules) fmt::print("  {}\n", rule);
  fmt::print("  Predict with it: shardmark predict criteo-kaggle --machine {}\n", arguments.out);
}

struct ConvertArguments {
  MachineOptions machine;
  int ranks = 0;
  std::string format = std::string(placement::machine_formats.front().name);
  std::string device = std::string(placement::topology_devices.front().name);
  std::string out;
};

void convert(const ConvertArguments& arguments) {
  const std::string text = choice_named(placement::machine_formats, "machine format", arguments.format)
                               .text(arguments.machine.chosen(), arguments.ranks,
                                     choice_named(placement::topology_devices, "device", arguments.device));
  if (arguments.out.empty()) {
    fmt::print("{}", text);
    return;
  }
  require_alone("machine convert");
  write_file(arguments.out, text);
  fmt::print(stderr, "wrote {}\n", arguments.out);
}

void define_convert_machine(CLI::App& app) {
  const auto arguments = std::make_shared<ConvertArguments>();
  CLI::App& command = *app.add_subcommand("convert", "write a machine, measured or described, for another program");
  command
      .add_option("MACHINE", arguments->machine.machine,
                  "file of calibrate or machine describe (.json), or a described machine (shardmark list machines)")
      ->required();
  command.add_option("--to", arguments->format, described("format", placement::machine_formats))->capture_default_str();
  command.add_option("--ranks", arguments->ranks, "ranks of the job")
      ->required()
      ->check(CLI::Range(1, placement::largest_job));
  command
      .add_option("--device", arguments->device,
                  described("of torchrec, where tables are", placement::topology_devices))
      ->capture_default_str();
  add_link_options(command, arguments->machine);
  command.add_option("--out", arguments->out, "write to this file instead of the screen");
  command.callback([arguments] { convert(*arguments); });
}

}  // namespace

void define_machine(CLI::App& app) {
  app.require_subcommand(1);
  define_convert_machine(app);
  const auto arguments = std::make_shared<DescribeArguments>();
  CLI::App& command = *app.add_subcommand(
      "describe", "write a machine file from a data sheet; what that does not say is another machine's");
  command
      .add_option("--like", arguments->machine.machine,
                  "described machine or file that has the rest: cpu-100g, dgx-a100, ...")
      ->capture_default_str();
  command.add_option("--cores", arguments->cores, "cores of a rank (a socket, for example)")
      ->check(CLI::PositiveNumber);
  command.add_option("--memory-bandwidth", arguments->memory_bandwidth,
                     "of a rank's memory, such as 307GB/s of a socket or 3.35TB/s of a GPU");
  add_link_options(command, arguments->machine);
  as_bytes(command.add_option("--memory", arguments->memory, "memory of a rank, such as 80GB (10^9) or 80GiB (2^30)"));
  command.add_option("--out", arguments->out, "machine file to write, .json (default: print it)");
  add_force(command, arguments->force);
  command.callback([arguments] { describe(*arguments); });
}

}  // namespace shardmark::workloads
