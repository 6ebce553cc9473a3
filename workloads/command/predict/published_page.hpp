// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/command/predict/predictions.hpp"

namespace shardmark::workloads {

/// What others published of the workload beside what is predicted for the described machines that they had: a hold-out,
/// to which nothing is fitted but where a step is said to have chosen a constant. Throws InputError where nothing was
/// published, and where none of it can be predicted.
std::string published_text(PredictedCases cases);

}  // namespace shardmark::workloads
