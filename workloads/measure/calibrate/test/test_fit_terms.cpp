// SPDX-License-Identifier: Apache-2.0
// The fit on times that are known to follow the model, and a whole calibration in small.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "comm/communicator.hpp"
#include "comm/placement/cost/machine_file.hpp"
#include "workloads/cases/placement_inputs.hpp"
#include "workloads/measure/calibrate/calibration_record.hpp"

namespace shardmark::workloads {
namespace {

const Status no_status = [](const std::string&) {};

/// Seconds unlike those that a fit begins with.
placement::MachineModel some_machine() {
  placement::MachineModel machine = placement::described_cluster();
  for (std::size_t t = 0; t < placement::terms.size(); ++t) machine.seconds[t] *= 0.5 + static_cast<double>(t % 5);
  placement::at(machine.seconds, placement::Term::route_split_id) = 2e-8;
  machine.flops = 7e10;
  machine.dense_start = 2e-3;
  machine.optimizer_weights = {{"adam", 3.0}, {"adagrad", 2.0}, {"rowwise_adagrad", 1.5}};
  return machine;
}

/// What the cases would take on a machine.
std::vector<CaseTimes> times_on(const placement::MachineModel& machine, std::span<const CalibrationCase> cases,
                                int per_node) {
  std::vector<CaseTimes> times;
  for (const CalibrationCase& each : cases) {
    const Workload& workload = each.options.workload;
    const placement::LookupStatistics statistics(workload.tables, workload.features, id_statistics_of(workload.ids));
    const placement::StepPrediction step = placement::predict_step(
        step_context_of(statistics, workload, each.plan(), each.config(), per_node, each.options.dense.kind), machine,
        each.plan());
    CaseTimes& of = times.emplace_back();
    for (std::size_t p = 0; p < phase_count; ++p) of.step += of.phases[p] = step.phases[p].seconds;
  }
  return times;
}

TEST(FitTerms, ExplainsTimesThatFollowTheModel) {
  for (const int ranks : {1, 2, 3}) {
    SCOPED_TRACE(ranks);
    const auto cases = calibration_cases(ranks);
    const auto times = times_on(some_machine(), cases, ranks);
    placement::MachineModel machine = placement::described_cluster();
    machine.cache_per_rank = some_machine().cache_per_rank;
    const TermFit fit = fit_terms(cases, times, ranks, machine);
    EXPECT_EQ(fit.exchange_share, 1.0);
    EXPECT_LT(step_errors(times, fit).largest, 0.01) << cases[step_errors(times, fit).worst].name;
    for (std::size_t p = 0; p < phase_count; ++p)
      EXPECT_LT(phase_errors(times, fit, p).largest, 0.02)
          << phase_names[p] << " of " << cases[phase_errors(times, fit, p).worst].name;
  }
}

/// Of exchanges that take less in steps than by themselves.
TEST(FitTerms, FindsHowLongExchangesTakeInSteps) {
  const auto cases = calibration_cases(3);
  const placement::MachineModel known = some_machine();
  for (const double share : {0.8, 0.6}) {
    placement::MachineModel in_steps = known, machine = placement::described_cluster();
    for (auto& [name, cost] : in_steps.exchanges)
      for (auto* message : {&cost.inside, &cost.between})
        for (auto& point : message->points) point.seconds *= share;
    const auto times = times_on(in_steps, cases, 1);
    machine.cache_per_rank = known.cache_per_rank;
    const TermFit fit = fit_terms(cases, times, 1, machine);
    EXPECT_EQ(fit.exchange_share, share);
    EXPECT_LT(step_errors(times, fit).largest, 0.01) << cases[step_errors(times, fit).worst].name;
    EXPECT_NEAR(machine.exchange("mpi_alltoallv").between.seconds(1e5) /
                    in_steps.exchange("mpi_alltoallv").between.seconds(1e5),
                1.0, 1e-9);
  }
}

TEST(FitTerms, FindsSecondsThatCasesTellApart) {
  const auto cases = calibration_cases(2);
  const auto times = times_on(some_machine(), cases, 2);
  placement::MachineModel machine = placement::described_cluster();
  machine.cache_per_rank = some_machine().cache_per_rank;
  const TermFit fit = fit_terms(cases, times, 2, machine);
  for (const placement::Term term :
       {placement::Term::lookup_line, placement::Term::lookup_value, placement::Term::update_value,
        placement::Term::key_id, placement::Term::route_key, placement::Term::route_split_id,
        placement::Term::sorted_key, placement::Term::tt_flop, placement::Term::tt_gradient_flop}) {
    const auto t = static_cast<std::size_t>(term);
    EXPECT_TRUE(fit.measured[t]) << placement::terms[t].name;
    EXPECT_NEAR(machine.seconds[t] / some_machine().seconds[t], 1.0, 0.05) << placement::terms[t].name;
  }
  EXPECT_NEAR(machine.flops / some_machine().flops, 1.0, 1e-6);
  EXPECT_NEAR(machine.dense_start / some_machine().dense_start, 1.0, 1e-6);
}

/// Half of the phases take half as long again as the model says, the others two thirds of that.
TEST(FitTerms, IsNeitherTooHighNorTooLowWhereTimesScatter) {
  const auto cases = calibration_cases(2);
  auto times = times_on(some_machine(), cases, 2);
  std::mt19937_64 random(1);
  std::vector<double> factors;
  for (std::size_t c = 0; c < times.size(); ++c) factors.push_back(c % 2 == 0 ? 1.5 : 1 / 1.5);
  for (std::size_t p = 0; p < phase_count; ++p) {
    std::ranges::shuffle(factors, random);
    for (std::size_t c = 0; c < times.size(); ++c) times[c].phases[p] *= factors[c];
  }
  for (CaseTimes& each : times) each.step = std::accumulate(each.phases.begin(), each.phases.end(), 0.0);
  placement::MachineModel machine = placement::described_cluster();
  machine.cache_per_rank = some_machine().cache_per_rank;
  const TermFit fit = fit_terms(cases, times, 2, machine);
  for (const Phase phase : {Phase::lookup, Phase::update}) {
    const std::size_t p = index_of(phase);
    double logs = 0.0, counted = 0.0;
    for (std::size_t c = 0; c < cases.size(); ++c) {
      if (times[c].phases[p] < 0.05 * times[c].step) continue;
      logs += std::log(fit.predictions[c].phases[p].seconds / times[c].phases[p]);
      ++counted;
    }
    EXPECT_NEAR(std::exp(logs / counted), 1.0, 0.05) << phase_names[p];
  }
}

TEST(FitTerms, PutsWhatPairsHaveInCommonDownToNoKey) {
  const auto cases = calibration_cases(2);
  const auto known = times_on(some_machine(), cases, 2);
  auto times = known;
  for (std::size_t c = 0; c < cases.size(); ++c)
    for (std::size_t p = 0; cases[c].like && p < phase_count; ++p) {
      const double of_dense = known[*cases[c].like].phases[p];
      times[c].phases[p] += of_dense;
      times[*cases[c].like].phases[p] = 2.0 * of_dense;
    }
  placement::MachineModel machine = placement::described_cluster();
  machine.cache_per_rank = some_machine().cache_per_rank;
  fit_terms(cases, times, 2, machine);
  for (const placement::Term term : {placement::Term::sorted_key, placement::Term::route_key}) {
    const auto t = static_cast<std::size_t>(term);
    EXPECT_NEAR(machine.seconds[t] / some_machine().seconds[t], 1.0, 0.25) << placement::terms[t].name;
  }
}

TEST(CalibrationCases, GiveEveryRankWorkAndStandApart) {
  for (const int ranks : {1, 2, 3, 8}) {
    const auto cases = calibration_cases(ranks, 0x1p18, 1.0 / 64);
    std::set<std::string> names;
    for (const CalibrationCase& each : cases) {
      names.insert(each.name);
      EXPECT_EQ(each.plan().ranks, ranks);
      EXPECT_GE(each.options.workload.global_batch, ranks) << each.name;
      const Table& table = each.options.workload.tables.front();
      if (each.like) {
        EXPECT_EQ(each.name, cases[*each.like].name +
                                 fmt::format(", {}{}", name_of(table.storage), table.any_key ? ", any keys" : ""));
      }
    }
    EXPECT_EQ(names.size(), cases.size());
  }
}

TEST(CalibrationCases, AreTimedWhereMemoryHoldsOneAtATime) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto cases = calibration_cases(world.size(), 0x1p18, 1.0 / 64);
  const auto some = std::span(cases).first(4);
  NearCores near(world, 0.0, 0.0);
  const auto times = case_times(world, some, {.seconds = 0.0, .passes = 2}, 1.0, no_status, near);
  ASSERT_EQ(times.size(), some.size());
  for (const CaseTimes& each : times) {
    EXPECT_GE(each.steps, 2);
    EXPECT_GT(each.step, 0.0);
  }
}

TEST(Calibration, OfTheseRanksKnowsAllThatPredictionsNeed) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Calibration measured = calibrate(world, quick_calibration(), no_status);
  for (std::size_t t = 0; t < placement::terms.size(); ++t)
    EXPECT_TRUE(std::isfinite(measured.machine.seconds[t]) && measured.machine.seconds[t] >= 0.0)
        << placement::terms[t].name;
  EXPECT_EQ(measured.machine.exchanges.contains("mpi_alltoallv"), world.size() > 1);
  EXPECT_EQ(measured.latencies.size(), world.size() > 1 ? 1 : 0);
  EXPECT_TRUE(measured.machine.measured);
  EXPECT_GT(measured.machine.gather_bytes_per_second, 0.0);
  ASSERT_EQ(measured.machine.row_shares.size(), 3);  // rows of 64, 256 and 512 bytes
  EXPECT_TRUE(std::ranges::is_sorted(measured.machine.row_shares, {}, &placement::SizeShare::share));
  EXPECT_EQ(measured.machine.row_shares.back().share, 1.0);
  EXPECT_EQ(measured.machine.on_processors, host_reaches_arrays);
  for (const placement::StepPrediction& step : measured.fit.predictions) EXPECT_TRUE(std::isfinite(step.seconds));
  const auto json = to_json(world, measured, quick_calibration());
  EXPECT_EQ(json.at("calibration").at("cases").size(), measured.cases.size());
  EXPECT_EQ(placement::machine_from_json(json, "a calibration"), measured.machine);
  placement::require_known(measured.machine, world.nodes());
}

}  // namespace
}  // namespace shardmark::workloads
