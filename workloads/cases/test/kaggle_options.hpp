// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "workloads/cases/option_table.hpp"
#include "workloads/cases/options.hpp"

namespace shardmark::workloads {

/// A run of criteo-kaggle with these settings ("key=value").
inline RunOptions with(const std::vector<std::string>& assignments) {
  RunOptions options;
  options.workload = load_workload("criteo-kaggle");
  apply_settings(options, assignments);
  return options;
}

}  // namespace shardmark::workloads
