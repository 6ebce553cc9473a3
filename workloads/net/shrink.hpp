// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "workloads/net/net_case.hpp"

namespace shardmark::workloads {

/// Returns cases that are one step smaller: without a table, feature or option, on fewer ranks, of halved numbers.
/// Those that leave most out come first. Some may be refused by the program.
std::vector<NetCase> smaller_cases(const NetCase& one);

/// Returns the smallest case that is found to fail like this one, by leaving out what can be left out. fails: takes a
/// case that may be refused; it is called at most `tries` times.
NetCase shrunk(NetCase one, const std::function<bool(const NetCase&)>& fails, int tries);

}  // namespace shardmark::workloads
