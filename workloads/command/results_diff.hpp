// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/command/command.hpp"

namespace shardmark {

/// `shardmark results diff`.
void define_results_diff(CLI::App& app);

}  // namespace shardmark
