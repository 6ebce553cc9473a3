// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/calibrate/fit_terms.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

#include "workloads/cases/placement_inputs.hpp"
#include "workloads/measure/calibrate/non_negative_least_squares.hpp"

namespace shardmark::workloads {
namespace {

constexpr int turns = 6;                  // in which slowest ranks and scales are found
constexpr double least_share = 0.05;      // of a step, below which errors of a phase count as if it took so much
constexpr double least_predicted = 0.25;  // of what was measured, in scales
constexpr double least_difference = 1.0;  // of counts of two cases; less is rounding
constexpr std::array cache_shares{0.0625, 0.125, 0.25, 0.5, 1.0, 2.0};
constexpr std::array exchange_shares{0.5, 0.6, 0.7, 0.8, 0.9};
constexpr double least_gain = 0.05;  // of the squares, by other times of exchanges than those measured

/// Holds what a case does, whatever time that takes.
struct KnownCase {
  KnownCase(const CalibrationCase& of, const placement::LookupStatistics& statistics, int ranks_per_node,
            const placement::MachineModel& machine)
      : step(placement::settled(step_context_of(statistics, of.options.workload, of.plan(), of.config(), ranks_per_node,
                                                of.options.dense.kind),
                                machine, of.plan())),
        work(placement::step_work(step, machine, of.plan())),
        optimizer(of.options.workload.tables.front().optimizer.kind) {}

  placement::StepContext step;
  placement::StepWork work;
  OptimizerKind optimizer;
};

/// Names a column of the system of a phase: a term; for an optimizer's values, of one optimizer.
struct Unknown {
  std::size_t term;
  OptimizerKind optimizer;

  double count(const KnownCase& of, const placement::TermCounts& counts) const {
    const bool other = term == static_cast<std::size_t>(placement::Term::optimizer_value) && of.optimizer != optimizer;
    return other ? 0.0 : counts[term];
  }
};

std::vector<Unknown> unknowns_of(std::size_t phase, std::span<const KnownCase> cases) {
  std::set<OptimizerKind> optimizers;
  for (const KnownCase& each : cases) optimizers.insert(each.optimizer);
  std::vector<Unknown> unknowns;
  for (std::size_t t = 0; t < placement::terms.size(); ++t) {
    if (index_of(placement::terms[t].phase) != phase) continue;
    if (t != static_cast<std::size_t>(placement::Term::optimizer_value))
      unknowns.push_back({t, {}});
    else
      for (const OptimizerKind kind : optimizers) unknowns.push_back({t, kind});
  }
  return unknowns;
}

/// Sets the seconds of an optimizer's values by optimizer: as those of one of them and weights.
void set_optimizers(const std::vector<std::pair<OptimizerKind, double>>& seconds, placement::MachineModel& machine) {
  if (seconds.empty()) return;
  const auto found = std::ranges::find(seconds, OptimizerKind::sgd, &std::pair<OptimizerKind, double>::first);
  double one = found == seconds.end() ? 0.0 : found->second;
  if (one <= 0.0) one = std::ranges::max(seconds, {}, &std::pair<OptimizerKind, double>::second).second;
  placement::at(machine.seconds, placement::Term::optimizer_value) = one;
  for (const auto& [kind, of_kind] : seconds)
    machine.optimizer_weights[std::string(name_of(kind))] = one > 0.0 ? of_kind / one : 1.0;
}

class Fit {
 public:
  Fit(std::span<const CalibrationCase> cases, std::span<const CaseTimes> times, int ranks_per_node,
      const std::vector<placement::LookupStatistics>& statistics, placement::MachineModel& machine)
      : times_(times), machine_(machine) {
    machine_.optimizer_weights.clear();
    for (std::size_t c = 0; c < cases.size(); ++c) {
      cases_.emplace_back(cases[c], statistics[c], ranks_per_node, machine_);
      like_.push_back(cases[c].like);
    }
    machine_.seconds = placement::described_cluster().seconds;
    for (const CaseTimes& each : times_) predicted_.push_back(each.phases);
    for (int turn = 0; turn < turns; ++turn) {
      for (std::size_t phase = 0; phase < phase_count; ++phase) solve(phase);
      solve_dense();
      for (std::size_t c = 0; c < cases_.size(); ++c) {
        const placement::StepPrediction now = predicted(c);
        for (std::size_t phase = 0; phase < phase_count; ++phase) predicted_[c][phase] = now.phases[phase].seconds;
      }
    }
    for (std::size_t t = 0; t < placement::terms.size(); ++t)
      if (placement::terms[t].like && !fit_.measured[t])
        machine_.seconds[t] = seconds_like(placement::terms[t], machine_.seconds);
    predict(cases);
  }

  double squares() const {
    double sum = 0.0;
    for (std::size_t c = 0; c < cases_.size(); ++c)
      for (std::size_t p = 0; p < phase_count; ++p) {
        const double error = (fit_.predictions[c].phases[p].seconds - times_[c].phases[p]) / scale(c, p);
        sum += error * error;
      }
    return sum;
  }

  const TermFit& fit() const { return fit_; }

 private:
  placement::StepPrediction predicted(std::size_t c) const {
    return placement::predict_work(cases_[c].step, machine_, cases_[c].work);
  }

  double least_scale(std::size_t c) const { return least_share * times_[c].step; }
  double measured_scale(std::size_t c, std::size_t phase) const {
    return std::max(times_[c].phases[phase], least_scale(c));
  }

  /// Returns the scale s for which (p - m) / s^2 = log(p / m) / p, the derivative of log(p / m)^2 / 2 by p, where p is
  /// predicted and m measured.
  double scale(std::size_t c, std::size_t phase) const {
    const double m = times_[c].phases[phase], p = std::max(predicted_[c][phase], least_predicted * m);
    const double log = std::log(p / m);
    return std::max(std::sqrt(p * (std::abs(log) > 1e-6 ? (p - m) / log : m)), least_scale(c));
  }

  /// Is the system of a phase, a row for each case.
  struct System {
    std::vector<std::vector<double>> rows;  ///< counts of the unknowns
    std::vector<double> left;               ///< seconds
  };

  using Scale = double (Fit::*)(std::size_t, std::size_t) const;
  /// Returns what a phase has of each case that is like another or of each that is not, in units of its scale.
  System system_of(std::size_t phase, std::span<const Unknown> unknowns, bool of_pairs, Scale scale) const {
    System system;
    for (std::size_t c = 0; c < cases_.size(); ++c) {
      if (like_[c].has_value() != of_pairs) continue;
      system.rows.emplace_back(unknowns.size());
      system.left.push_back(0.0);
      const double divisor = (this->*scale)(c, phase);
      add(c, phase, unknowns, 1.0 / divisor, system);
      if (!of_pairs) continue;
      add(*like_[c], phase, unknowns, -1.0 / divisor, system);
      for (double& count : system.rows.back())
        if (std::abs(count) * divisor < least_difference) count = 0.0;
    }
    return system;
  }

  /// Adds a share of a case to the last row.
  void add(std::size_t c, std::size_t phase, std::span<const Unknown> unknowns, double share, System& system) const {
    const KnownCase& each = cases_[c];
    const placement::StepPrediction now = predicted(c);
    for (std::size_t u = 0; u < unknowns.size(); ++u)
      system.rows.back()[u] += share * unknowns[u].count(each, now.counts);
    system.left.back() += share * (times_[c].phases[phase] - now.phases[phase].exchange);
  }

  static bool has(const System& system, std::size_t unknown) {
    return std::ranges::any_of(system.rows, [&](const std::vector<double>& row) { return row[unknown] != 0.0; });
  }

  void solve(std::size_t phase) {
    const auto unknowns = unknowns_of(phase, cases_);
    const System alone = system_of(phase, unknowns, false, &Fit::scale);
    std::vector<double> seconds = non_negative_least_squares(alone.rows, alone.left);
    const System common = system_of(phase, unknowns, false, &Fit::measured_scale);  // as pairs are, what they share
    const std::vector<double> shared = non_negative_least_squares(common.rows, common.left);
    System pairs = system_of(phase, unknowns, true, &Fit::measured_scale);
    std::vector<bool> known(unknowns.size());
    for (std::size_t u = 0; u < unknowns.size(); ++u) {
      known[u] = has(alone, u);
      for (std::size_t pair = 0; known[u] && pair < pairs.rows.size(); ++pair)
        pairs.left[pair] -= std::exchange(pairs.rows[pair][u], 0.0) * shared[u];
    }
    const auto more = non_negative_least_squares(pairs.rows, pairs.left);
    std::vector<std::pair<OptimizerKind, double>> of_optimizers;
    for (std::size_t u = 0; u < unknowns.size(); ++u) {
      if (!known[u] && has(pairs, u)) {
        known[u] = true;
        seconds[u] = more[u];
      }
      if (!known[u]) continue;
      fit_.measured[unknowns[u].term] = true;
      if (unknowns[u].term == static_cast<std::size_t>(placement::Term::optimizer_value))
        of_optimizers.emplace_back(unknowns[u].optimizer, seconds[u]);
      else
        machine_.seconds[unknowns[u].term] = seconds[u];
    }
    set_optimizers(of_optimizers, machine_);
  }

  /// Finds the flops per second of dense layers, and what they take however few samples there are.
  void solve_dense() {
    const std::size_t phase = index_of(Phase::dense);
    std::vector<std::vector<double>> rows;
    std::vector<double> left;
    for (std::size_t c = 0; c < cases_.size(); ++c) {
      const placement::StepContext& step = cases_[c].step;
      if (step.dense_flops <= 0.0) continue;
      const double divisor = measured_scale(c, phase);
      rows.push_back({1.0 / divisor, step.dense_flops * static_cast<double>(step.samples()) / divisor});
      left.push_back((times_[c].phases[phase] - predicted(c).phases[phase].exchange) / divisor);
    }
    const std::vector<double> seconds = non_negative_least_squares(rows, left);
    if (seconds.empty() || seconds[1] <= 0.0) return;
    machine_.dense_start = seconds[0];
    machine_.flops = 1.0 / seconds[1];
  }

  /// Predicts the cases again, with the optimizers' weights.
  void predict(std::span<const CalibrationCase> cases) {
    for (std::size_t c = 0; c < cases_.size(); ++c) {
      const placement::StepContext& step = cases_[c].step;
      const placement::StepWork work = placement::step_work(step, machine_, cases[c].plan());
      fit_.predictions.push_back(placement::predict_work(step, machine_, work));
    }
  }

  std::span<const CaseTimes> times_;
  placement::MachineModel& machine_;
  std::vector<KnownCase> cases_;
  std::vector<std::optional<std::size_t>> like_;            ///< by case: CalibrationCase::like
  std::vector<std::array<double, phase_count>> predicted_;  ///< by case: seconds of phases, the turn before
  TermFit fit_;
};

void scale_exchanges(placement::MachineModel& machine, double share) {
  for (placement::ExchangeCost& cost : std::views::values(machine.exchanges)) {
    for (double* seconds : {&cost.call, &cost.inside_round, &cost.between_round}) *seconds *= share;
    for (placement::MessageCost* message : {&cost.inside, &cost.between})
      for (auto& point : message->points) point.seconds *= share;
  }
}

FitErrors errors_of(std::span<const CaseTimes> times, const auto& measured, const auto& predicted) {
  FitErrors errors;
  std::size_t counted = 0;
  for (std::size_t c = 0; c < times.size(); ++c) {
    if (measured(c) < least_share * times[c].step) continue;
    const double error = std::abs(predicted(c) - measured(c)) / measured(c);
    errors.mean += error;
    ++counted;
    if (error < errors.largest) continue;
    errors.largest = error;
    errors.worst = c;
  }
  if (counted > 0) errors.mean /= static_cast<double>(counted);
  return errors;
}

}  // namespace

TermFit fit_terms(std::span<const CalibrationCase> cases, std::span<const CaseTimes> times, int ranks_per_node,
                  placement::MachineModel& machine) {
  std::vector<placement::LookupStatistics> statistics;
  for (const CalibrationCase& each : cases) {
    const Workload& workload = each.options.workload;
    statistics.emplace_back(workload.tables, workload.features, id_statistics_of(workload.ids));
  }
  TermFit best;
  placement::MachineModel best_machine = machine;
  double least = std::numeric_limits<double>::infinity(), cache_share = 1.0;
  const auto try_shares = [&](double of_cache, double of_exchanges) {
    placement::MachineModel tried = machine;
    tried.cache_per_rank *= of_cache;
    scale_exchanges(tried, of_exchanges);
    const Fit fit(cases, times, ranks_per_node, statistics, tried);
    if (fit.squares() >= least) return;
    least = fit.squares();
    best = fit.fit();
    best.exchange_share = of_exchanges;
    cache_share = of_cache;
    best_machine = std::move(tried);
  };
  for (const double share : cache_shares) try_shares(share, 1.0);
  least *= 1.0 - least_gain;
  for (const double share : exchange_shares) try_shares(cache_share, share);
  machine = std::move(best_machine);
  return best;
}

FitErrors step_errors(std::span<const CaseTimes> times, const TermFit& fit) {
  return errors_of(
      times, [&](std::size_t c) { return times[c].step; }, [&](std::size_t c) { return fit.predictions[c].seconds; });
}

FitErrors phase_errors(std::span<const CaseTimes> times, const TermFit& fit, std::size_t phase) {
  return errors_of(
      times, [&](std::size_t c) { return times[c].phases[phase]; },
      [&](std::size_t c) { return fit.predictions[c].phases[phase].seconds; });
}

}  // namespace shardmark::workloads
