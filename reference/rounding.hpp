// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace shardmark::reference {

/// u: a result rounded to fp32 is off by at most this, relative.
inline constexpr double unit_roundoff = 0x1p-24;

/// The largest power of two that divides x, 0 for x = 0.
constexpr double lowest_bit(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x < 0.0 ? -x : x);
  const auto magnitude = std::bit_cast<double>(bits);
  const bool power_of_two = (bits & 0x000fffffffffffffULL) == 0;
  return power_of_two ? magnitude : magnitude - std::bit_cast<double>(bits & (bits - 1));
}

constexpr bool is_power_of_two(double x) { return x > 0.0 && lowest_bit(x) == x; }

/// A sum in double, with what is needed to say by how much its fp32 evaluations may differ.
struct BoundedSum {
  double value = 0.0;
  double magnitude = 0.0;                                   ///< sum of |term|
  double finest = std::numeric_limits<double>::infinity();  ///< the largest power of two that divides every term
  std::int64_t terms = 0;

  void add(double term) {
    value += term;
    magnitude += std::abs(term);
    if (term != 0.0) finest = std::fmin(finest, lowest_bit(term));
    ++terms;
  }

  /// fp32 gives this very sum in any order: every partial sum is a multiple of `finest`, by an integer of 24 bits.
  bool exact() const { return magnitude <= 0x1p24 * finest && finest >= 0x1p-149; }

  /// Otherwise: n - 1 additions, one product and one division per term, one rounding of `value` itself.
  double bound() const { return static_cast<double>(terms + 2) * unit_roundoff * magnitude; }
};

}  // namespace shardmark::reference
