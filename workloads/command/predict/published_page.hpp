// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "workloads/command/predict/predicted_plans.hpp"

namespace shardmark::workloads {

/// Returns what others published of the workload beside what is predicted for the described machines that they had: a
/// hold-out, to which nothing is fitted but where a step is said to have chosen a constant. Throws InputError where
/// nothing was published, and where a step cannot be predicted. given: options that replace those of each step;
/// without: terms and parts that the model has not (without_term.hpp).
std::string published_text(const Workload& workload, std::span<const GivenOption> given,
                           std::span<const std::string> without);

/// Returns the same of the steps of a file (published_file.hpp): a line each, and for each group and all of them how
/// far predictions are off. Steps without a machine are shown and not counted, those that chose a constant likewise.
/// Throws InputError naming the file, the step and its key where a step cannot be predicted.
std::string published_file_text(const std::string& name_or_file, std::span<const GivenOption> given,
                                std::span<const std::string> without);

}  // namespace shardmark::workloads
