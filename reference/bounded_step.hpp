// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "reference/touched_table.hpp"

namespace shardmark::reference {

/// optimizer_step on row `slot` of the table, which also widens the bounds of its values and state by
///   - what the bounds of the state, and gradients that are off by errors[c], may change;
///   - the roundings of the step in fp32: (8 + dim/2) u of the step, 2 u of the value, (4 + dim) u of the state.
/// gradient and errors [dim].
void bounded_step(TouchedTable& table, std::int64_t slot, std::span<const double> gradient,
                  std::span<const double> errors);

/// optimizer_step on row `slot`; the bounds stay as they are.
void exact_step(TouchedTable& table, std::int64_t slot, std::span<const double> gradient);

}  // namespace shardmark::reference
