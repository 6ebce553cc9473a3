// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>

#include "results/record.hpp"
#include "workloads/watchdog.hpp"

namespace shardmark {

/// The phases of a step, in the order of `phase_names` (results/record.hpp).
enum class Phase : std::size_t { input_dist, lookup, output_dist, dense, grad_dist, update };

/// Seconds and bytes of one rank's step by phase. Bytes: sent to other ranks; 0 in lookup and dense.
struct PhaseCosts {
  std::array<double, phase_names.size()> seconds{};
  std::array<std::int64_t, phase_names.size()> bytes{};

  std::int64_t sent() const {
    std::int64_t total = 0;
    for (const Phase phase : {Phase::input_dist, Phase::output_dist, Phase::grad_dist, Phase::update})
      total += bytes[static_cast<std::size_t>(phase)];
    return total;
  }
};

/// Charges the time between two calls to the phase that ends, and enters the next.
class PhaseClock {
 public:
  explicit PhaseClock(PhaseCosts& costs) : costs_(costs), last_(MPI_Wtime()) { enter(phase_names.front()); }

  void end(Phase phase) {
    const double now = MPI_Wtime();
    costs_.seconds[static_cast<std::size_t>(phase)] += now - last_;
    last_ = now;
    const auto next = static_cast<std::size_t>(phase) + 1;
    enter(next < phase_names.size() ? phase_names[next] : "between steps");
  }

 private:
  PhaseCosts& costs_;
  double last_;
};

}  // namespace shardmark
