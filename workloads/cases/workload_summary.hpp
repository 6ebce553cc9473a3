// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "workloads/cases/spec.hpp"

namespace shardmark::workloads {

/// Returns what a workload comes to in one line: "5 tables, 306 M rows, 80.7 GB with optimizer state, 29 ids a sample,
/// batch 65536". Throws InputError where a table cannot be stored as the spec says.
std::string summary_of(const Workload& workload);

}  // namespace shardmark::workloads
