// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/machine_choice.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/placement/cost/machine_file.hpp"
#include "reference/output_file.hpp"
#include "workloads/command/context.hpp"
#include "workloads/measure/calibrate/calibration_record.hpp"
#include "workloads/measure/conditions.hpp"

namespace shardmark::workloads {
namespace {

namespace fs = std::filesystem;

fs::path kept_file(const Fingerprint& fingerprint) {
  return fs::path("results/local/machines") / (fingerprint.digits + ".json");
}

/// The file's machine, read by rank 0 alone.
placement::MachineModel read_on_one(const comm::Communicator& world, const std::string& file) {
  std::string text;
  comm::agree(world, [&] {
    if (world.rank() == 0) text = placement::to_json(placement::read_machine(file)).dump();
  });
  comm::broadcast(world, text, 0);
  return placement::machine_from_json(nlohmann::ordered_json::parse(text), file);
}

bool is_there(const comm::Communicator& world, const fs::path& file) {
  return comm::all_reduce(world, world.rank() == 0 && fs::exists(file) ? 1 : 0, comm::Reduce::max) == 1;
}

/// A disk that cannot be written to is no reason not to predict.
void keep(const fs::path& file, const nlohmann::ordered_json& machine) {
  try {
    fs::create_directories(file.parent_path());
    write_file(file.string(), machine.dump(2) + "\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "shardmark: the calibration is not kept: {}\n", error.what());
  }
}

/// Of the steps that the terms were fitted to. Beyond, the machine did something else meanwhile.
constexpr double largest_mean_error = 0.3;

/// Why what was measured says nothing of these ranks by themselves; empty: it does.
std::string why_unusable(const Calibration& measured, const results::VisitConditions& conditions) {
  if (conditions.is_disturbed())
    return fmt::format("other programs took {:.2f} processors meanwhile",
                       (conditions.others_cpu_seconds + conditions.stolen_seconds) / conditions.seconds);
  const double error = step_errors(measured.times, measured.fit).mean;
  if (error <= largest_mean_error) return "";
  return fmt::format("its terms miss the steps that they were fitted to by {:.0f} % on average, more than {:.0f} %",
                     100 * error, 100 * largest_mean_error);
}

/// Absent where that would say nothing.
std::optional<placement::MachineModel> calibrated_now(const comm::Communicator& world, const comm::Affinity& affinity,
                                                      const fs::path& file, const Status& status) {
  if (world.rank() == 0)
    fmt::print(stderr, "shardmark: calibrating these ranks for predictions, once, in two to five minutes: {}\n",
               file.string());
  const CalibrationSettings settings;
  ConditionsWatch watch(world);
  watch.begin();
  const Calibration measured = calibrate(world, settings, status);
  if (const std::string why = why_unusable(measured, watch.end()); !why.empty()) {
    if (world.rank() == 0)
      fmt::print(stderr,
                 "shardmark: the calibration is not used and nothing is predicted: {}; try again on a quiet "
                 "machine\n",
                 why);
    return {};
  }
  auto json = to_json(world, measured, settings);
  json["environment"] = results::environment_record(run_context(world, affinity, 0));
  if (world.rank() == 0) keep(file, json);
  return measured.machine;
}

}  // namespace

bool calibrates(const comm::Communicator& world, const std::string& wanted) {
  return wanted == "auto" && !is_there(world, kept_file(fingerprint_of(world)));
}

ChosenMachine choose_machine(const comm::Communicator& world, const comm::Affinity& affinity, const std::string& wanted,
                             const Status& status) {
  if (wanted == "off") return {};
  const Fingerprint present = fingerprint_of(world);
  if (wanted == "auto" || wanted == "known") {
    const fs::path file = kept_file(present);
    if (is_there(world, file)) return {read_on_one(world, file.string()), ""};
    if (wanted == "known") return {};
    return {calibrated_now(world, affinity, file, status), ""};
  }
  ChosenMachine chosen{read_on_one(world, wanted), ""};
  placement::require_known(*chosen.model, world.nodes());
  if (!chosen.model->fingerprint.empty() && chosen.model->fingerprint == present.digits) return chosen;
  chosen.warning =
      fmt::format("--machine {}: {}, not on these ranks ({})", wanted, chosen.model->source, present.words);
  if (world.rank() == 0) fmt::print(stderr, "shardmark: {}\n", chosen.warning);
  return chosen;
}

}  // namespace shardmark::workloads
