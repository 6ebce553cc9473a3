// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "results/record.hpp"

namespace shardmark::results {

/// What visits of 10 steps take; natural logarithms.
struct SimulatedMachine {
  const char* name;
  double drift;       ///< spread from round to round, which all cases of a round share
  double visit;       ///< spread of visits
  double step;        ///< spread of steps
  double slow_share;  ///< of visits that another process takes part of
  double slow;        ///< by what they are slower, exponentially distributed
};
inline constexpr SimulatedMachine quiet_machine{"quiet", 0.005, 0.008, 0.02, 0.03, 0.1};
inline constexpr SimulatedMachine drifting_machine{"drifting", 0.05, 0.02, 0.05, 0.05, 0.2};
inline constexpr SimulatedMachine shared_machine{"one core taken", 0.1, 0.08, 0.3, 0.25, 0.4};
inline constexpr std::array simulated_machines{quiet_machine, drifting_machine, shared_machine};

/// The visits of cases to such a machine, whose times differ by factors.
class SimulatedJob {
 public:
  SimulatedJob(const SimulatedMachine& machine, std::uint64_t seed) : machine_(machine), random_(seed) {}

  void next_round() { drift_ += machine_.drift * normal_(random_); }

  /// Milliseconds of the steps of one visit to a case of 10 ms times `factor`.
  std::vector<double> visit(double factor) {
    double offset = std::log(10.0 * factor) + drift_ + machine_.visit * normal_(random_);
    if (uniform_(random_) < machine_.slow_share) offset += machine_.slow * tail_(random_);
    std::vector<double> steps;
    for (int step = 0; step < 10; ++step) steps.push_back(std::exp(offset + machine_.step * normal_(random_)));
    return steps;
  }

 private:
  SimulatedMachine machine_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  std::exponential_distribution<double> tail_;
  double drift_ = 0.0;
};

/// Times of cases that differ by these factors, in so many rounds.
inline std::vector<StepTime> simulated_times(const SimulatedMachine& machine, const std::vector<double>& factors,
                                             std::int64_t rounds, std::uint64_t seed) {
  SimulatedJob job(machine, seed);
  std::vector<std::vector<double>> samples(factors.size());
  for (std::int64_t round = 0; round < rounds; ++round) {
    job.next_round();
    for (std::size_t c = 0; c < factors.size(); ++c) {
      const auto steps = job.visit(factors[c]);
      samples[c].insert(samples[c].end(), steps.begin(), steps.end());
    }
  }
  std::vector<StepTime> times;
  for (const auto& each : samples)
    times.push_back(step_time(each, std::vector<std::int64_t>(static_cast<std::size_t>(rounds), 10)));
  return times;
}

}  // namespace shardmark::results
