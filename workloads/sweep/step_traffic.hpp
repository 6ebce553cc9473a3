// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "comm/placement/plan.hpp"
#include "workloads/batches/batch_source.hpp"
#include "workloads/cases/case.hpp"

namespace shardmark::workloads {

/// Runs step 0 on fresh tables and writes what every rank sent to every other, as traffic_file.hpp says: all phases
/// together to FILE, and each that sends (input_dist, output_dist, grad_dist, update) to FILE.PHASE. What stays on a
/// rank is 0. Collective; throws InputError when a file cannot be written.
void write_step_traffic(const comm::Communicator& comm, const RunOptions& options, const placement::Plan& plan,
                        const Case& how, BatchSource& batches, const std::string& file);

}  // namespace shardmark::workloads
