// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>
#include <optional>

#include "comm/agree.hpp"
#include "comm/placement/formats/torchrec_topology.hpp"
#include "comm/session.hpp"
#include "reference/output_file.hpp"
#include "workloads/batches/compute_threads.hpp"
#include "workloads/command/calibration_report.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/context.hpp"
#include "workloads/command/quantity.hpp"
#include "workloads/measure/calibrate/calibration_record.hpp"
#include "workloads/step/watchdog.hpp"

namespace shardmark::workloads {
namespace {

using Json = nlohmann::ordered_json;

struct CalibrateArguments {
  std::string out;
  bool force = false;
  std::string format = std::string(placement::machine_formats.front().name);
  CalibrationSettings settings;
  std::int64_t threads = 0;
  double watchdog = 600.0;
};

int run_on(const comm::Communicator& world, const CalibrateArguments& arguments) {
  const comm::Affinity affinity = comm::agree(world, comm::observed_affinity);
  const ComputeThreads threads(world, affinity, arguments.threads);
  const Watchdog watchdog(world, arguments.watchdog);
  std::optional<OutputFile> file;
  std::ofstream stream;
  comm::agree(world, [&] {
    if (world.rank() != 0 || arguments.out.empty()) return;
    require_new(arguments.out, arguments.force);
    file.emplace(arguments.out);
    stream.open(file->path());
    if (!stream) throw InputError(arguments.out + ": cannot write this file");
  });

  const Status status = status_line(world);
  const Calibration measured = calibrate(world, arguments.settings, status);
  Json machine = to_json(world, measured, arguments.settings);
  machine["environment"] = results::environment_record(run_context(world, affinity, 0));
  status("");
  comm::agree(world, [&] {
    if (world.rank() != 0) return;
    const bool ours = arguments.format == placement::machine_formats.front().name;
    const std::string text = ours ? machine.dump(2) + "\n"
                                  : choice_named(placement::machine_formats, "machine format", arguments.format)
                                        .text(measured.machine, world.size(), placement::topology_devices.front());
    if (ours || file)
      print_calibration(measured, machine, world.size());
    else
      fmt::print("{}", text);
    if (!file) return;
    stream << text;
    stream.close();
    if (!stream) throw InputError(arguments.out + ": cannot write this file");
    file->commit();
  });
  return 0;
}

void add_sizes(CLI::App& app, RateSizes& sizes) {
  as_bytes(
      app.add_option("--table", sizes.table_bytes, "size of the table whose rows are read for the ceilings, per rank"))
      ->default_str("1GiB");
  as_bytes(app.add_option("--array", sizes.array_bytes, "size of each of the arrays that are streamed, per rank"))
      ->default_str("256MiB");
  app.add_option("--rows", sizes.rows, "rows of one round of the ceilings")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--rounds", sizes.rounds, "rounds of the ceilings, of which the best counts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

}  // namespace

void define_calibrate(CLI::App& app) {
  const auto arguments = std::make_shared<CalibrateArguments>();
  app.add_option("--out", arguments->out,
                 "write what predictions need, and what it was measured on, as JSON, such as machine.json");
  add_force(app, arguments->force);
  app.add_option("--format", arguments->format,
                 described("format of the file; torchrec is printed where there is none", placement::machine_formats))
      ->capture_default_str();
  add_sizes(app, arguments->settings.rates);
  const auto quick = std::make_shared<bool>(false);
  app.add_flag("--quick", *quick, "small sizes and few repetitions, in seconds: a look, not a basis for predictions");
  app.add_option("--threads", arguments->threads,
                 "threads per rank (default: OMP_NUM_THREADS, or the cores it may use / the ranks that share them)")
      ->check(CLI::PositiveNumber);
  app.add_option("--watchdog", arguments->watchdog, std::string(watchdog_help))
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.callback([arguments, quick] {
    if (*quick) arguments->settings = quick_calibration();
    choice_named(placement::machine_formats, "machine format", arguments->format);
    const RateSizes& sizes = arguments->settings.rates;
    if (sizes.table_bytes < 1 << 20 || sizes.array_bytes < 1 << 10)
      throw InputError("calibrate: --table must be at least 1M and --array 1K");
    const int code = comm::with_mpi([&](const comm::Communicator& world) { return run_on(world, *arguments); });
    if (code != 0) throw Failure{code};
  });
}

}  // namespace shardmark::workloads
