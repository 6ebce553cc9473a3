// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/check_bags.hpp"
#include "reference/row_values.hpp"
#include "workloads/cases/fault.hpp"
#include "workloads/cases/spec.hpp"

namespace shardmark {

/// Where samples come from when they are not generated.
struct DataOptions {
  std::string file;
  std::string id_rule = "modulo";
  std::int64_t min_count = 1;
  std::string malformed = "stop";
};

/// Everything that `run` and `compare` can be told, except which plans, transfers and exchanges.
struct RunOptions {
  Workload workload;
  DataOptions data;
  std::uint64_t seed = 1;
  bool exact = false;
  Fault fault = Fault::none;
  kernels::BoundsCheck bounds_check = kernels::BoundsCheck::on;
  std::int64_t batches = 4;           ///< different global batches that the timed steps rotate through
  std::int64_t checked_steps = 2;     ///< 0: off
  std::optional<std::int64_t> steps;  ///< timed steps per case; absent: until the median is known well enough
  double seconds = 5.0;               ///< budget of timed steps per case when `steps` is absent

  /// Gradients of the outputs. In exact mode the tables' values are multiples of what one gradient unit changes.
  GradientValues gradients() const { return {.seed = seed}; }
  RowValues row_values() const;
};

/// A key of --set key=value.
struct Setting {
  std::string_view name;
  std::string_view description;
  void (*apply)(RunOptions& options, const std::string& value);
};

const std::vector<Setting>& settings();

/// Applies "key=value" texts in their order, then makes exact mode exact (learning rates become powers of two).
/// Throws InputError for an unknown key, printing the valid ones, or a value that does not fit it.
void apply_settings(RunOptions& options, const std::vector<std::string>& assignments);

}  // namespace shardmark
