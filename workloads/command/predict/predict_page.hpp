// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <span>

#include "workloads/command/predict/predicted_plans.hpp"

namespace shardmark::workloads {

/// A line per ranks and plan, what does not fit and why, the scaling of each plan as bars of its speedup over the
/// fewest ranks, and where its bottleneck moves.
std::string predictions_text(const PredictedCases& cases, std::span<const PredictedPlan> predicted);
/// The same for programs.
std::string predictions_json(const PredictedCases& cases, std::span<const PredictedPlan> predicted);
std::string predictions_csv(const PredictedCases& cases, std::span<const PredictedPlan> predicted);

/// Returns for each predicted plan the parts of its step in their order: seconds, share of the step, whether they are
/// on the critical path, and the largest terms of what is computed.
std::string explanation(std::span<const PredictedPlan> predicted);

/// Returns {"ms", "exchange_ms", "mean_ms", "least_ms", "slowest_rank"} of each phase, by its name.
nlohmann::ordered_json phases_json(const placement::StepPrediction& step);

struct PredictionFormat {
  std::string_view name;
  std::string_view description;
  std::string (*print)(const PredictedCases&, std::span<const PredictedPlan>);
};
inline constexpr std::array prediction_formats{
    PredictionFormat{"text", "a table, the scaling of each plan and where its bottleneck moves", predictions_text},
    PredictionFormat{"json", "every phase of every case", predictions_json},
    PredictionFormat{"csv", "a line for every case", predictions_csv},
};

}  // namespace shardmark::workloads
