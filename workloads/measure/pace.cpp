// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/pace.hpp"

#include <algorithm>
#include <numeric>

#include "comm/collectives.hpp"
#include "workloads/measure/control_groups.hpp"

namespace shardmark {
namespace {

constexpr double least_share = 0.05, share_of_memory = 0.2;

double sum(const std::array<double, step_phases>& phases) { return std::reduce(phases.begin(), phases.end()); }

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

std::array<double, step_phases> pace_of(std::span<const PaceTimes> steps) {
  std::array<double, step_phases> pace{};
  for (std::size_t p = 0; p < step_phases; ++p) {
    std::vector<double> ratios;
    for (const auto& [then, now] : steps)
      if (then[p] >= least_share * sum(then) && now[p] > 0.0) ratios.push_back(now[p] / then[p]);
    pace[p] = ratios.empty() ? 1.0 : median(std::move(ratios));
  }
  return pace;
}

StepPrediction at_pace(const StepPrediction& predicted, const std::array<double, step_phases>& pace) {
  StepPrediction now = predicted;
  double before = 0.0, after = 0.0;
  for (std::size_t p = 0; p < step_phases; ++p) {
    before += predicted.phases[p].seconds;
    after += now.phases[p].seconds *= pace[p];
  }
  if (before > 0.0) now.seconds *= after / before;
  return now;
}

Pace::Pace(const Communicator& comm, const MachineModel* machine) : comm_(comm), machine_(machine) {
  if (machine == nullptr || machine->controls.steps.empty()) return;
  double bytes = 0.0;
  for (CalibrationCase& each :
       calibration_cases(comm.size(), machine->controls.largest_table, machine->controls.samples)) {
    if (std::ranges::find(machine->controls.steps, each.name, &ControlStep::name) == machine->controls.steps.end())
      continue;
    bytes += case_bytes(each);
    cases_.push_back(std::move(each));
  }
  const double room = share_of_memory * static_cast<double>(memory_available()) / comm.node_size();
  if (all_reduce(comm, bytes > room ? 1 : 0, Reduce::max)) cases_.clear();
}

Pace::~Pace() = default;

void Pace::visit(double seconds) {
  for (std::size_t c = 0; c < cases_.size(); ++c) {
    if (c == running_.size()) running_.push_back(std::make_unique<RunningCase>(comm_, cases_[c]));
    running_[c]->visit(seconds);
  }
}

std::optional<std::array<double, step_phases>> Pace::during(std::size_t visits) const {
  if (running_.empty()) return std::nullopt;
  std::vector<PaceTimes> steps;
  for (std::size_t c = 0; c < running_.size(); ++c) {
    PaceTimes times{.then = std::ranges::find(machine_->controls.steps, cases_[c].name, &ControlStep::name)->seconds};
    std::ranges::copy(running_[c]->times(visits).phases, times.now.begin());
    steps.push_back(times);
  }
  return pace_of(steps);
}

}  // namespace shardmark
