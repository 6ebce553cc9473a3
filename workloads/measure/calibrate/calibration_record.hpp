// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "workloads/measure/calibrate/calibrate.hpp"

namespace shardmark::workloads {

/// Returns the machine (comm/placement/cost/machine_file.hpp reads it) with what it rests on: "ceilings" of each rate,
/// minimum and maximum over the ranks; "words" of the fingerprint; "calibration" {seconds, errors of the fit by phase,
/// cases with measured and predicted milliseconds}; "environment" is left to the caller. Collective.
nlohmann::ordered_json to_json(const comm::Communicator& world, const Calibration& calibration,
                               const CalibrationSettings& settings);

}  // namespace shardmark::workloads
