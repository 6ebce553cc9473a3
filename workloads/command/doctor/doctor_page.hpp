// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "workloads/command/doctor/facts.hpp"

namespace shardmark::workloads {

/// The facts and what to change, in lines of at most 120 characters; on a node of a few ranks at most 40 lines.
std::string doctor_page(const Facts& facts);

}  // namespace shardmark::workloads
