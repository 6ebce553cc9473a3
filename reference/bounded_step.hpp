// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "reference/touched_table.hpp"

namespace shardmark::reference {

/// Takes step number t (from 1) of optimizer_step on row `slot` of the table, stored as the value type of the table,
/// and widens the bounds of its values and state by
///   - what the bounds of the row and its state, and gradients that are off by errors[c], may change: the largest
///     deviation at the corners of these ranges;
///   - the roundings of the step in fp32: Rounded, in the formulas of OptimizerRule;
///   - for fp16 and bf16, the values between which the fp32 result may be rounded.
/// gradient and errors [dim].
void bounded_step(TouchedTable& table, std::int64_t slot, std::int64_t t, std::span<const double> gradient,
                  std::span<const double> errors);

/// Takes the same step; the bounds stay as they are.
void exact_step(TouchedTable& table, std::int64_t slot, std::int64_t t, std::span<const double> gradient);

}  // namespace shardmark::reference
