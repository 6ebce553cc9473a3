// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "workloads/measure/calibrate/calibrate.hpp"

namespace shardmark::workloads {

/// Prints a calibration for people: ceilings, messages, terms with their seconds, how well these explain the steps that
/// they were fitted to, and the steps that they explain worst. json: of to_json(), for what ranks differ in.
void print_calibration(const Calibration& calibration, const nlohmann::ordered_json& json, int ranks);

}  // namespace shardmark::workloads
