// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace shardmark::placement {

/// The formula of IdStatistics, written down. Differences of neighbours lose digits, so in long double.
inline std::vector<double> row_probabilities(std::int64_t rows, double alpha) {
  const long double exponent = 1.0L - static_cast<long double>(alpha);
  const auto integral = [&](long double y) {
    return exponent == 0.0L ? std::log(y) : (std::pow(y, exponent) - 1.0L) / exponent;
  };
  const long double total = integral(static_cast<long double>(rows) + 1);
  std::vector<double> p;
  for (long double y = 1, before = 0, after = 0; std::ssize(p) < rows; ++y, before = after) {
    after = integral(y + 1);
    p.push_back(static_cast<double>((after - before) / total));
  }
  return p;
}

}  // namespace shardmark::placement
