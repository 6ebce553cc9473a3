// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace shardmark::results {

/// Says how a machine is known for which steps are predicted: measured, on one node or between hosts; described as a
/// whole; put together of hardware and software.
enum class MachineKind { calibrated_one_node, calibrated_between_hosts, described, of_parts };

/// Returns in a sentence how far predictions for such machines were off, on average, where the time of a step was
/// known: results/measured/usual_errors.json, which scripts/report writes.
std::string usual_error(MachineKind kind);

}  // namespace shardmark::results
