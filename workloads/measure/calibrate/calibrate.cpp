// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/calibrate/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "comm/affinity.hpp"
#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/exchange/exchange_calibration.hpp"
#include "comm/placement/cost/step_cost.hpp"
#include "workloads/cases/placement_inputs.hpp"
#include "workloads/measure/case_predictions.hpp"
#include "workloads/measure/memory.hpp"

namespace shardmark::workloads {
namespace {

/// Returns the bytes that a rank may use, of the rank with least.
double memory_per_rank(const comm::Communicator& world) {
  return comm::all_reduce(world, static_cast<double>(memory_of_rank(world)), comm::Reduce::min);
}

/// Returns the share of a rank in the last-level caches of its node; of the rank with least.
double cache_per_rank(const comm::Communicator& world) {
  const auto own = static_cast<double>(comm::agree(world, comm::last_level_cache_bytes)) / world.node_size();
  return comm::all_reduce(world, own, comm::Reduce::min);
}

/// Returns the bytes per second of the slowest rank; those of the rows of 64 values, or of what has no rows.
double ceiling(const comm::Communicator& world, const MachineRates& rates, std::string_view name) {
  double most = 0.0;
  for (const Rate& rate : rates.rates)
    if (rate.name == name && (rate.dim == 0 || rate.dim == 64)) most = std::max(most, rate.bytes_per_second);
  return comm::all_reduce(world, most, comm::Reduce::min);
}

/// Returns, of rows of each measured size, the speed of reading them at random as a share of that of the largest. A row
/// is read at least as fast as smaller ones.
std::vector<placement::SizeShare> row_shares(const comm::Communicator& world, const MachineRates& rates) {
  std::vector<placement::SizeShare> shares;
  for (const Rate& rate : rates.rates) {
    if (rate.name != "gather") continue;
    const double speed = comm::all_reduce(world, rate.bytes_per_second, comm::Reduce::min);
    shares.push_back(
        {static_cast<double>(4 * rate.dim), shares.empty() ? speed : std::max(speed, shares.back().share)});
  }
  for (placement::SizeShare& each : shares) each.share /= shares.back().share;
  return shares;
}

constexpr double share_of_memory = 0.7;
constexpr double most_exchange_seconds = 0.05, least_samples = 1.0 / 64;

/// Returns the seconds of the messages of a step, by those of `machine`, whose terms are not known yet.
double exchange_seconds(const CalibrationCase& of, const placement::MachineModel& machine) {
  const Workload& workload = of.options.workload;
  const placement::LookupStatistics statistics(workload.tables, workload.features, id_statistics_of(workload.ids));
  const placement::StepPrediction step = placement::predict_step(
      step_context_of(statistics, workload, of.plan(), of.config(), machine.ranks_per_node, of.options.dense.kind),
      machine, of.plan());
  return std::transform_reduce(step.phases.begin(), step.phases.end(), 0.0, std::plus<>(),
                               [](const placement::PhasePrediction& phase) { return phase.exchange; });
}

/// Returns the cases, with tables so small that two cases fit into so much memory, and batches for links that are slow.
std::vector<CalibrationCase> fitting_cases(const comm::Communicator& world, const CalibrationSettings& settings,
                                           const placement::MachineModel& machine, double memory) {
  double largest = settings.largest_table;
  auto cases = calibration_cases(world.size(), largest, settings.samples);
  const auto bytes = [&] { return 2 * case_bytes(std::ranges::max(cases, {}, case_bytes)); };
  while (bytes() > memory && largest > 0x1p16) cases = calibration_cases(world.size(), largest /= 2, settings.samples);
  std::vector<double> seconds;
  for (const CalibrationCase& each : cases) seconds.push_back(exchange_seconds(each, machine));
  for (double share = 0.5; share >= least_samples && std::ranges::max(seconds) > most_exchange_seconds; share /= 2) {
    auto smaller = calibration_cases(world.size(), largest, share * settings.samples);
    for (std::size_t c = 0; c < cases.size(); ++c) {
      if (seconds[c] <= most_exchange_seconds) continue;
      const double less = exchange_seconds(smaller[c], machine);
      if (less >= 0.9 * seconds[c]) continue;
      cases[c] = std::move(smaller[c]);
      seconds[c] = less;
    }
  }
  return cases;
}

}  // namespace

CalibrationSettings quick_calibration() {
  return {.rates = {.array_bytes = 1 << 20, .table_bytes = 1 << 22, .rows = 1 << 12, .rounds = 2},
          .exchanges = {.smallest = 256, .largest = 1 << 16, .largest_sum = 1 << 17, .seconds = 0.0},
          .auto_seconds = 0.0,
          .passes = {.seconds = 0.0, .passes = 1},
          .seconds_apart = 0.0,
          .largest_table = 0x1p18,
          .samples = 1.0 / 64};
}

Calibration calibrate(const comm::Communicator& world, const CalibrationSettings& settings, const Status& status) {
  const double begin = MPI_Wtime();
  Calibration result;
  placement::MachineModel& machine = result.machine;
  result.fingerprint = fingerprint_of(world);
  machine.memory_per_rank = memory_per_rank(world);
  require_memory(world, static_cast<double>(settings.rates.table_bytes + 3 * settings.rates.array_bytes), "calibrate",
                 "--table, --array");
  status("calibrating: ceilings of memory");
  NearCores near(world, settings.seconds_apart, barrier_of_near_cores(world));
  near.wait();
  result.rates = machine_rates(world, settings.rates);
  machine.cache_per_rank = cache_per_rank(world);
  ExchangeTimes exchanges = measure_exchanges(world, settings.exchanges, status, near);
  const auto set_exchanges = [&] {
    result.latencies = comm::agree(world, [&] { return set_exchange_costs(exchanges, machine); });
  };
  set_exchanges();
  status("calibrating: what exchange auto picks from");
  machine.ratios = comm::calibrate_exchanges(world, settings.auto_seconds);
  machine.name = result.fingerprint.digits;
  machine.source = "measured: " + result.fingerprint.words;
  machine.measured = true;
  machine.on_processors = host_reaches_arrays;
  machine.fingerprint = result.fingerprint.digits;
  machine.ranks_per_node = ranks_per_node(world);
  machine.stream_bytes_per_second = ceiling(world, result.rates, "triad");
  machine.gather_bytes_per_second = ceiling(world, result.rates, "gather");
  machine.update_bytes_per_second = ceiling(world, result.rates, "read_modify_write");
  machine.row_shares = row_shares(world, result.rates);
  const double memory = share_of_memory * machine.memory_per_rank;
  result.cases = comm::agree(world, [&] { return fitting_cases(world, settings, machine, memory); });
  result.times = case_times(world, result.cases, settings.passes, memory, status, near);
  // Whatever else ran on the machine beside the first visit may have ended since.
  keep_least(exchanges, measure_exchanges(world, settings.exchanges, status, near));
  set_exchanges();
  status("calibrating: fitting the terms");
  result.fit =
      comm::agree(world, [&] { return fit_terms(result.cases, result.times, machine.ranks_per_node, machine); });
  result.seconds = comm::all_reduce(world, MPI_Wtime() - begin, comm::Reduce::max);
  return result;
}

}  // namespace shardmark::workloads
