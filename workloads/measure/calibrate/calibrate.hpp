// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/measure/calibrate/exchange_times.hpp"
#include "workloads/measure/calibrate/fingerprint.hpp"
#include "workloads/measure/calibrate/fit_terms.hpp"
#include "workloads/measure/machine_rates.hpp"

namespace shardmark::workloads {

/// Says how much a calibration measures, and for how long: with the defaults one to two minutes, and up to three more
/// where cores move.
struct CalibrationSettings {
  RateSizes rates{};
  ExchangeSizes exchanges{};
  double auto_seconds = 4.0;  ///< for the ratios by which exchange auto chooses
  CasePasses passes{};
  double seconds_apart = 180.0;   ///< that it waits for NearCores, in all
  double largest_table = 0x1p28;  ///< bytes of a rank
  double samples = 1.0;           ///< of a step, times those of the cases
};

/// Returns small sizes and few repetitions: for tests, and to see in a few seconds what the machine gives.
CalibrationSettings quick_calibration();

/// Is a machine as it has been measured, and what that rests on.
struct Calibration {
  placement::MachineModel machine;
  MachineRates rates;
  Fingerprint fingerprint;
  std::vector<LevelLatency> latencies;  ///< of exchanges, by level
  std::vector<CalibrationCase> cases;
  std::vector<CaseTimes> times;  ///< by case
  TermFit fit;
  double seconds = 0.0;  ///< that it took
};

/// Measures the present ranks: ceilings, messages, and steps, to which the seconds of the terms are fitted. Collective;
/// the same on every rank. Throws InputError where memory does not suffice. Kokkos has started.
Calibration calibrate(const comm::Communicator& world, const CalibrationSettings& settings, const Status& status);

}  // namespace shardmark::workloads
