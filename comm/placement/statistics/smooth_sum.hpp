// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace shardmark::placement {

/// This is the position below which a smooth value is summed one by one.
inline constexpr std::int64_t smooth_from = 64;

/// Returns the sum of value(first + phase), value(first + 1 + phase), ... below last + phase, for a value that changes
/// by about a power of its argument where that is large. It sums in blocks over which the argument grows by an eighth.
/// The sum over [a, b) is the integral from a - 1/2 to b - 1/2, by Gauss-Legendre quadrature of three points, less 1/24
/// of what the derivative grows by (Euler and Maclaurin). first >= smooth_from.
template <class Value>
double smooth_sum(std::int64_t first, std::int64_t last, double phase, const Value& value) {
  constexpr std::array points{-0.7745966692414834, 0.0, 0.7745966692414834};
  constexpr std::array weights{5.0 / 18, 8.0 / 18, 5.0 / 18};
  const auto at = [&](double position) { return value(position + phase); };
  double sum = 0.0;
  if (last - first <= smooth_from) {
    for (std::int64_t i = first; i < last; ++i) sum += at(static_cast<double>(i));
    return sum;
  }
  for (std::int64_t begin = first; begin < last;) {
    const std::int64_t end = std::min(last, begin + begin / 8);
    const double length = static_cast<double>(end - begin), middle = static_cast<double>(begin) + 0.5 * (length - 1.0);
    for (std::size_t k = 0; k < points.size(); ++k) sum += length * weights[k] * at(middle + 0.5 * length * points[k]);
    begin = end;
  }
  const auto slope_before = [&](std::int64_t i) { return at(static_cast<double>(i)) - at(static_cast<double>(i - 1)); };
  return sum - (slope_before(last) - slope_before(first)) / 24.0;
}

/// Approximates a smooth function on [0, 1] that is known at the four points of Chebyshev.
class FourPoints {
 public:
  static constexpr std::array at{0.03806023374435663, 0.3086582838174551, 0.6913417161825449, 0.9619397662556434};

  std::array<double, at.size()> values{};

  /// Returns the value of Lagrange's polynomial through them.
  double operator()(double x) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      double term = values[i];
      for (std::size_t j = 0; j < at.size(); ++j)
        if (j != i) term *= (x - at[j]) / (at[i] - at[j]);
      sum += term;
    }
    return sum;
  }
};

}  // namespace shardmark::placement
