// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <random>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/session.hpp"
#include "datasets/partial_file.hpp"
#include "kernels/ceilings.hpp"
#include "kernels/huge_pages.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/context.hpp"
#include "workloads/measure/memory.hpp"

namespace shardmark {
namespace {

using Json = nlohmann::ordered_json;

struct CalibrateArguments {
  std::string out;
  std::uint64_t array_bytes = std::uint64_t{256} << 20;
  std::uint64_t table_bytes = std::uint64_t{2} << 30;
  std::int64_t rows = std::int64_t{1} << 18;
  int rounds = 10;
  std::int64_t threads = 0;
};

struct Rate {
  std::string name;
  std::int64_t dim = 0;           ///< fp32 values per row, 0: not about rows
  double bytes_per_second = 0;    ///< the best round of this rank, all ranks at once
  kernels::RowSetting setting{};  ///< with which that was reached
};

/// Measures on this rank while the others do the same; every round begins on all of them together.
class MachineCalibration {
 public:
  MachineCalibration(const Communicator& world, const CalibrateArguments& arguments)
      : world_(world),
        arguments_(arguments),
        table_(kernels::allocate<Execution, std::uint32_t>("shardmark::table", arguments.table_bytes / 4)) {
    Kokkos::deep_copy(exec_, table_, 0U);
  }

  double huge_page_share() const { return kernels::huge_page_share(table_.data(), 4 * std::ssize(table_)); }

  std::vector<Rate> rates() {
    std::vector<Rate> rates = streams();
    for (const std::int64_t dim : {16, 64, 128}) rates.push_back(gather(dim));
    for (const std::int64_t dim : {16, 64, 128}) rates.push_back(read_modify_write(dim));
    return rates;
  }

 private:
  using Keys = std::vector<DeviceArray<std::int64_t>>;

  template <class Body>
  double best_seconds(const Body& body) const {
    double best = std::numeric_limits<double>::infinity();
    for (int round = 0; round < arguments_.rounds; ++round) {
      barrier(world_);
      best = std::min(best, kernels::seconds(exec_, [&] { body(static_cast<std::size_t>(round)); }));
    }
    return best;
  }

  std::vector<Rate> streams() const {
    const DeviceArray<float> a("shardmark::a", arguments_.array_bytes / 4), b("shardmark::b", a.size()),
        c("shardmark::c", a.size());
    const auto elements = static_cast<double>(a.size());
    const double triad = best_seconds([&](std::size_t) { kernels::triad<Execution>(exec_, a, b, c, 3.0F); });
    const double copy = best_seconds([&](std::size_t) { Kokkos::deep_copy(exec_, a, b); });
    return {{"triad", 0, kernels::triad_bytes_per_element * elements / triad, {}},
            {"copy", 0, 8 * elements / copy, {}}};
  }

  /// A few lists, so that no cache remembers one: distinct rows of the table in random order.
  Keys random_keys(std::int64_t dim) const {
    const auto rows = static_cast<std::int64_t>(table_.size()) / dim;
    std::mt19937_64 random(static_cast<std::uint64_t>(world_.rank()));
    std::uniform_int_distribution<std::int64_t> draw(0, rows - 1);
    Keys lists;
    for (int list = 0; list < 8; ++list) {
      std::vector<std::int64_t> keys(static_cast<std::size_t>(arguments_.rows));
      for (auto& key : keys) key = draw(random);
      std::sort(keys.begin(), keys.end());
      keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
      std::shuffle(keys.begin(), keys.end(), random);
      lists.push_back(kernels::array_of(exec_, keys, "shardmark::keys"));
    }
    return lists;
  }

  /// The best of run(keys, setting), which moves `bytes_per_row`.
  template <class Run>
  Rate best_rate(std::string name, std::int64_t dim, std::int64_t bytes_per_row, const Run& run) const {
    const Keys lists = random_keys(dim);
    std::size_t turn = 0;
    const auto setting = kernels::fastest_setting(
        exec_, 4, [&](const kernels::RowSetting& each) { run(lists[turn++ % lists.size()], each); });
    double best = 0;
    for (int round = 0; round < arguments_.rounds; ++round) {
      const auto& keys = lists[turn++ % lists.size()];
      barrier(world_);
      const double time = kernels::seconds(exec_, [&] { run(keys, setting); });
      best = std::max(best, static_cast<double>(std::ssize(keys) * bytes_per_row) / time);
    }
    return {std::move(name), dim, best, setting};
  }

  Rate gather(std::int64_t dim) const {
    const DeviceArray<std::uint32_t> sink(
        "shardmark::sink",
        static_cast<std::size_t>((arguments_.rows / kernels::smallest_grain + 1) * kernels::sum_words));
    return best_rate("gather", dim, 4 * dim, [&](const auto& keys, const kernels::RowSetting& setting) {
      kernels::gather_rows<Execution>(exec_, {table_.data(), dim}, keys, setting, sink);
    });
  }

  Rate read_modify_write(std::int64_t dim) const {
    return best_rate("read_modify_write", dim, 8 * dim, [&](const auto& keys, const kernels::RowSetting& setting) {
      kernels::modify_rows<Execution>(exec_, {table_.data(), dim}, {}, keys, setting, 1U);
    });
  }

  const Communicator& world_;
  const CalibrateArguments& arguments_;
  Execution exec_;
  DeviceArray<std::uint32_t> table_;
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

void require_memory(const Communicator& world, const CalibrateArguments& arguments) {
  agree(world, [&] {
    const auto needed = static_cast<double>(arguments.table_bytes + 3 * arguments.array_bytes) * world.node_size();
    if (needed > static_cast<double>(memory_available()))
      throw InputError(fmt::format("calibrate: {} ranks of a node need {:.1f} GB, it has {:.1f}; use --table, --array",
                                   world.node_size(), needed * 1e-9, static_cast<double>(memory_available()) * 1e-9));
  });
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
  require_memory(world, arguments);
  std::optional<PartialFile> file;
  std::ofstream stream;
  agree(world, [&] {
    if (world.rank() != 0 || arguments.out.empty()) return;
    file.emplace(arguments.out);
    stream.open(file->path());
    if (!stream) throw InputError(arguments.out + ": cannot write this file");
  });

  MachineCalibration calibration(world, arguments);
  const std::vector<Rate> rates = agree(world, [&] { return calibration.rates(); });
  Json machine{{"format", "shardmark-machine/1"},
               {"table_bytes", arguments.table_bytes},
               {"array_bytes", arguments.array_bytes},
               {"rows", arguments.rows},
               {"rounds", arguments.rounds},
               {"huge_page_share", over_ranks(world, calibration.huge_page_share())},
               {"ceilings", Json::array()}};
  for (const Rate& rate : rates) machine["ceilings"].push_back(to_json(world, rate));
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
  app.add_option("--table", arguments->table_bytes, "size of the table whose rows are read, per rank")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("2G");
  app.add_option("--array", arguments->array_bytes, "size of each of the arrays that are streamed, per rank")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("256M");
  app.add_option("--rows", arguments->rows, "rows of one round")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--rounds", arguments->rounds, "rounds, of which the best counts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--threads", arguments->threads,
                 "threads per rank (default: OMP_NUM_THREADS, or the cores it may use / the ranks that share them)")
      ->check(CLI::PositiveNumber);
  app.callback([arguments] {
    if (arguments->table_bytes < 1 << 20 || arguments->array_bytes < 1 << 10)
      throw InputError("calibrate: --table must be at least 1M and --array 1K");
    const int code = with_mpi([&](const Communicator& world) { return run_on(world, *arguments); });
    if (code != 0) throw Failure{code};
  });
}

}  // namespace shardmark
