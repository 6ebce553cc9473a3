// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <numbers>

#include "reference/counter_random.hpp"

namespace shardmark::reference {

/// Uniform in (0, 1], for logarithms.
inline double above_zero(std::uint64_t bits) { return 1.0 - unit_interval(bits); }

/// N(0, 1): Box and Muller 1958.
inline double standard_normal(std::uint64_t bits) {
  const double radius = std::sqrt(-2.0 * std::log(above_zero(next_random_bits(bits, std::uint64_t{0}))));
  return radius * std::cos(2.0 * std::numbers::pi * unit_interval(next_random_bits(bits, std::uint64_t{1})));
}

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::standard_normal;
}  // namespace shardmark
