// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/exchange/named_exchange.hpp"
#include "comm/placement/traffic/skew.hpp"
#include "comm/placement/traffic/traffic_file.hpp"
#include "comm/session.hpp"
#include "reference/size.hpp"
#include "results/json_lines.hpp"
#include "results/table/exchanges.hpp"
#include "workloads/batches/compute_threads.hpp"
#include "workloads/cases/option_table.hpp"
#include "workloads/cases/options.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/context.hpp"
#include "workloads/measure/memory.hpp"
#include "workloads/step/watchdog.hpp"
#include "workloads/sweep/report.hpp"
#include "workloads/sweep/sizes.hpp"

namespace shardmark::workloads {
namespace {

struct ExchangeArguments {
  std::string bytes = "1KiB:16MiB:4";
  std::vector<std::string> skews{"uniform"};
  std::string matrix;
  std::vector<std::string> exchanges{"all"};
  double seconds = 0.25;
  double watchdog = 600.0;
  std::vector<std::string> settings;
  std::string out;
  bool force = false;
};

/// The seed and the fault that the texts set. Throws InputError.
RunOptions settings_of(const std::vector<std::string>& texts) {
  RunOptions options;
  for (const std::string& text : texts)
    if (!text.starts_with("seed=") && !text.starts_with("fault="))
      throw InputError(fmt::format("--set {}: this command knows the keys seed and fault", text));
  apply_settings(options, texts);
  return options;
}

/// The first `ranks` lines and columns, as nccl-tests takes them.
TrafficCase matrix_case(const std::string& file, int ranks) {
  const placement::ByteMatrix whole = placement::read_traffic(file);
  if (whole.ranks() < ranks)
    throw InputError(fmt::format("{}: a matrix of {} ranks for {} ranks", file, whole.ranks(), ranks));
  TrafficCase traffic{"matrix", 0, placement::ByteMatrix(ranks)};
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) traffic.traffic.set(from, to, whole(from, to));
    traffic.bytes += traffic.traffic.sent_by(from);
  }
  traffic.bytes /= ranks;
  return traffic;
}

std::vector<TrafficCase> traffic_cases(const ExchangeArguments& arguments, const std::vector<std::int64_t>& sizes,
                                       int ranks, std::uint64_t seed) {
  if (!arguments.matrix.empty()) return {matrix_case(arguments.matrix, ranks)};
  std::vector<const Choice<placement::MakeTraffic>*> chosen;
  for (const std::string& name : arguments.skews) {
    if (name != "all") chosen.push_back(&choice_named(placement::skews, "skew", name));
    if (name == "all")
      for (const Choice<placement::MakeTraffic>& skew : placement::skews) chosen.push_back(&skew);
  }
  std::vector<TrafficCase> cases;
  for (const Choice<placement::MakeTraffic>* skew : chosen)
    for (const std::int64_t bytes : sizes)
      cases.push_back({std::string(skew->name), bytes, skew->value(ranks, bytes, seed)});
  return cases;
}

std::string circumstances(const comm::Communicator& world, const nlohmann::ordered_json& environment) {
  return fmt::format("# shardmark {}, {}: {} ranks on {} node{}, {}\n",
                     environment.at("build").at("version").get<std::string>(),
                     environment.at("libraries").at("mpi").get<std::string>(), world.size(), world.nodes(),
                     world.nodes() == 1 ? "" : "s", environment.at("time").get<std::string>());
}

int run_on(const comm::Communicator& world, const ExchangeArguments& arguments, const std::vector<std::int64_t>& sizes,
           const RunOptions& settings) {
  const comm::Affinity affinity = comm::agree(world, comm::observed_affinity);
  const ComputeThreads threads(world, affinity, 1);
  const Watchdog watchdog(world, arguments.watchdog);
  const Status status = status_line(world);
  const auto cases = comm::agree(world, [&] { return traffic_cases(arguments, sizes, world.size(), settings.seed); });
  std::int64_t largest = 0;
  for (const TrafficCase& each : cases) largest = std::max(largest, each.traffic.busiest());
  // Both buffers, and as much again for algorithms that pack.
  require_memory(world, 4.0 * static_cast<double>(largest), "exchange", "smaller --bytes");
  const auto exchanges = comm::agree(world, [&] { return comm::usable_exchanges(world, arguments.exchanges); });
  const auto environment = results::environment_record(run_context(world, affinity, settings.seed));
  std::optional<results::JsonLinesWriter> writer;
  comm::agree(world, [&] {
    if (world.rank() == 0 && !arguments.out.empty())
      writer.emplace(arguments.out, environment, results::Replace::of(arguments.force));
  });

  status("preparing the ping-pong");
  ExchangeSweep sweep(world, exchanges, largest, settings.seed, settings.fault);
  if (world.rank() == 0) fmt::print("{}{}", circumstances(world, environment), results::exchange_header());
  std::vector<results::ExchangeRecord> records;
  std::size_t timed = 0;
  for (const TrafficCase& traffic : cases) {
    status(fmt::format("timed {} of {} traffics, now {} {}", timed++, cases.size(), traffic.skew,
                       size_text(traffic.bytes)));
    const std::size_t first = records.size();
    for (const SweepLine& line : sweep.run(traffic, arguments.seconds)) records.push_back(record_of(traffic, line));
    comm::agree(world, [&] {
      if (world.rank() != 0) return;
      const auto measured = std::span(records).subspan(first);
      fmt::print("{}", results::exchange_lines(measured));
      std::fflush(stdout);
      if (!writer) return;
      for (const results::ExchangeRecord& record : measured) writer->append(to_json(record));
    });
  }
  comm::agree(world, [&] {
    if (writer) writer->close();
  });
  if (world.rank() == 0) {
    status("");
    fmt::print("{}{}\n", results::exchange_findings(records), results::exchange_verdict(records));
  }
  return results::are_valid(records) ? 0 : 1;
}

}  // namespace

void define_exchange(CLI::App& app) {
  const auto arguments = std::make_shared<ExchangeArguments>();
  auto* bytes = app.add_option("--bytes", arguments->bytes,
                               "what each rank sends in all, itself included: a size or BEGIN:END[:FACTOR]")
                    ->capture_default_str();
  auto* skew = app.add_option("--skew", arguments->skews,
                              "shapes of traffic, separated by commas, or all (shardmark list skews)")
                   ->delimiter(',')
                   ->capture_default_str();
  app.add_option(
         "--matrix", arguments->matrix,
         "bytes from rank to rank: a square text matrix, as nccl-tests' alltoallv reads and run --traffic writes")
      ->excludes(bytes)
      ->excludes(skew);
  app.add_option("--exchange", arguments->exchanges,
                 "exchanges, separated by commas, or all (shardmark list exchanges)")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--seconds", arguments->seconds,
                 "most time per exchange and traffic; less when its median is known to 2.5 %")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--set", arguments->settings, "seed=N or fault=NAME, repeatable");
  app.add_option("--watchdog", arguments->watchdog, std::string(watchdog_help))
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--out", arguments->out, "results file, a JSON record per line (default: none)");
  add_force(app, arguments->force);
  app.callback([arguments] {
    const auto sizes = parse_sizes(arguments->bytes);
    const RunOptions settings = settings_of(arguments->settings);
    const int code =
        comm::with_mpi([&](const comm::Communicator& world) { return run_on(world, *arguments, sizes, settings); });
    if (code != 0) throw Failure{code};
  });
}

}  // namespace shardmark::workloads
