// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/counter_random.hpp"
#include "reference/value_type.hpp"

namespace shardmark::reference {

/// This is u: a result rounded to fp32 is off by at most this, relative, unless it is subnormal.
inline constexpr double unit_roundoff = 0x1p-24;
/// This is the distance between subnormal numbers of fp32: a result that is one of them is off by at most half of it.
inline constexpr double subnormal_distance = 0x1p-149;

/// Returns by how much `roundings` to fp32 may change a number whose terms have this magnitude, when what is rounded is
/// multiplied by at most `factor` >= 1 afterwards. Nothing changes an exact 0.
constexpr double rounding_error(double roundings, double magnitude, double factor = 1.0) {
  return magnitude == 0.0 ? 0.0 : roundings * (unit_roundoff * magnitude + subnormal_distance * factor);
}

/// Returns the largest power of two that divides x, 0 for x = 0.
constexpr double lowest_bit(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x < 0.0 ? -x : x);
  const auto magnitude = std::bit_cast<double>(bits);
  const bool power_of_two = (bits & 0x000fffffffffffffULL) == 0;
  return power_of_two ? magnitude : magnitude - std::bit_cast<double>(bits & (bits - 1));
}

constexpr bool is_power_of_two(double x) { return x > 0.0 && lowest_bit(x) == x; }

/// Is a sum in double, with what is needed to bound by how much its fp32 evaluations may differ.
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

  /// Returns whether fp32 gives this very sum in any order: every partial sum is a multiple of `finest`, by an integer
  /// of 24 bits.
  bool exact() const { return magnitude <= 0x1p24 * finest && finest >= 0x1p-149; }

  /// Returns the bound of a sum that is not exact: n - 1 additions, one product and one division per term, one rounding
  /// of `value` itself.
  double bound() const { return rounding_error(static_cast<double>(terms + 2), magnitude); }
};

/// Is a number that fp32 operations compute, with a bound of what their roundings do to it: 2 u of every result, one of
/// them for another order of the operations. Exact zeros add and multiply exactly.
struct Rounded {
  double value = 0.0;
  double error = 0.0;

  constexpr Rounded() = default;
  constexpr Rounded(double exact) : value(exact) {}  // NOLINT: formulas mix numbers and constants
  constexpr Rounded(double value_, double error_) : value(value_), error(error_) {}

  static Rounded result(double value, double error) { return {value, error + rounding_error(2, std::abs(value))}; }

  bool zero() const { return value == 0.0 && error == 0.0; }
  friend Rounded operator-(const Rounded& a) { return {-a.value, a.error}; }
  friend Rounded operator+(const Rounded& a, const Rounded& b) {
    if (a.zero() || b.zero()) return a.zero() ? b : a;
    return result(a.value + b.value, a.error + b.error);
  }
  friend Rounded operator-(const Rounded& a, const Rounded& b) { return a + -b; }
  friend Rounded operator*(const Rounded& a, const Rounded& b) {
    return result(a.value * b.value, std::abs(a.value) * b.error + a.error * (std::abs(b.value) + b.error));
  }
  friend Rounded operator/(const Rounded& a, const Rounded& b) {
    const double quotient = a.value / b.value;
    return result(quotient, (a.error + std::abs(quotient) * b.error) / std::max(std::abs(b.value) - b.error, 0.0));
  }
  friend Rounded sqrt(const Rounded& a) {
    const double root = std::sqrt(a.value);
    return result(root,
                  std::max(root - std::sqrt(std::max(a.value - a.error, 0.0)), std::sqrt(a.value + a.error) - root));
  }
  friend Rounded abs(const Rounded& a) { return {std::abs(a.value), a.error}; }
  friend auto operator<=>(const Rounded& a, const Rounded& b) { return a.value <=> b.value; }
};

/// Returns 16 uniform bits, above 16 zeros, for one value that step number `step` (from 1) updates, by its place in the
/// whole table: any placement and any order of rows rounds it alike. Four columns share one random number, which gives
/// each as many bits as rounding drops; only fp16's subnormal numbers drop more, whose mean is off by up to 2^-16 of a
/// quantum. row_bits: random_bits(seed, step, table, row), which the columns of a row have in common.
constexpr std::uint32_t rounding_bits(std::uint64_t row_bits, std::int64_t column) {
  const std::uint64_t number = next_random_bits(row_bits, static_cast<std::uint64_t>(column / 4));
  return static_cast<std::uint32_t>(number >> 16 * (column % 4)) << 16;
}
/// Does the same from its keys; the programs take RowValues::seed as seed.
constexpr std::uint32_t rounding_bits(std::uint64_t seed, std::int64_t step, std::int64_t table, std::int64_t row,
                                      std::int64_t column) {
  return rounding_bits(random_bits(seed, step, table, row), column);
}

/// Returns `value` as a table of this type stores it; int8, which depends on the whole row, is in row_quantization.hpp.
constexpr float rounded_to(ValueType type, float value) {
  switch (type) {
    case ValueType::fp16:
      return to_float(rounded_to<Fp16>(value));
    case ValueType::bf16:
      return to_float(rounded_to<Bf16>(value));
    default:
      return value;
  }
}

constexpr float stochastically_rounded_to(ValueType type, float value, std::uint32_t random) {
  switch (type) {
    case ValueType::fp16:
      return to_float(stochastically_rounded_to<Fp16>(value, random));
    case ValueType::bf16:
      return to_float(stochastically_rounded_to<Bf16>(value, random));
    default:
      return value;
  }
}

/// Rounds the updated values of one row, computed in fp32, to values of their table.
struct RowRounding {
  ValueType type = ValueType::fp32;
  bool stochastic = false;
  std::uint64_t seed = 0;
  std::int64_t step = 1, table = 0, row = 0;

  constexpr float operator()(float value, std::int64_t column) const {
    return stochastic ? stochastically_rounded_to(type, value, rounding_bits(seed, step, table, row, column))
                      : rounded_to(type, value);
  }
};

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::RowRounding, reference::rounded_to, reference::rounding_bits, reference::stochastically_rounded_to;
}  // namespace shardmark
