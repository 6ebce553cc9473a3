// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace shardmark::placement {

/// Computes p_i of IdStatistics, and sums of it over neighbours, which have a closed form: G(y r) - G(y) = y^(1 -
/// alpha) G(r).
class PowerLaw {
 public:
  PowerLaw(std::int64_t rows, double alpha)
      : exponent_(1.0 - alpha), total_(integral(std::log1p(static_cast<double>(rows)))) {}

  /// Returns the sum of p_i over rows [begin, end), which need not be whole.
  double mass(double begin, double end) const {
    const double y = begin + 1.0;
    return std::min(1.0, std::exp(exponent_ * std::log(y)) * integral(std::log1p((end - begin) / y)) / total_);
  }
  double operator()(double row) const { return mass(row, row + 1.0); }

 private:
  /// Returns G of e^log_y, without loss of digits for a small exponent or logarithm.
  double integral(double log_y) const { return exponent_ == 0.0 ? log_y : std::expm1(exponent_ * log_y) / exponent_; }

  double exponent_, total_;
};

}  // namespace shardmark::placement
