// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "results/registered.hpp"
#include "workloads/command/predict/predicted_plans.hpp"

namespace shardmark::workloads {

/// Returns the predictions as a file of registered ones has them, made now; plans that are alike on as many ranks with
/// one batch once, those without a prediction not at all. within: the error that they state.
results::Registered registration(const PredictedCases& cases, std::span<const PredictedPlan> predicted, double within);

}  // namespace shardmark::workloads
