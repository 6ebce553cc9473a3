// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>

#include "workloads/command/predict/predicted_plans.hpp"

namespace shardmark::workloads {

/// A line per ranks and plan, what does not fit and why, the scaling of each plan as bars of its speedup over the
/// fewest ranks, and where its bottleneck moves.
std::string predictions_text(const PredictedCases& cases, std::span<const PredictedPlan> predicted);
/// The same for programs.
std::string predictions_json(const PredictedCases& cases, std::span<const PredictedPlan> predicted);
std::string predictions_csv(const PredictedCases& cases, std::span<const PredictedPlan> predicted);

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

/// What others published of the workload beside what is predicted for the described machines that they had: a hold-out,
/// to which nothing is fitted but where a step is said to have chosen a constant. Throws InputError where nothing was
/// published, and where none of it can be predicted.
std::string published_text(PredictedCases cases);

}  // namespace shardmark::workloads
