// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "reference/dense/matrix.hpp"

namespace shardmark::reference {

/// (p_0, p_1, ..) of each sample: parts [samples, width of each], result [samples, sum of the widths].
template <class Number>
Matrix<Number> concatenation(std::span<const Matrix<Number>> parts, std::int64_t samples) {
  std::int64_t width = 0;
  for (const auto& part : parts) width += part.columns;
  Matrix<Number> result(samples, width);
  std::int64_t first = 0;
  for (const auto& part : parts) {
    for (std::int64_t s = 0; s < samples; ++s) std::ranges::copy(part.row(s), &result.at(s, first));
    first += part.columns;
  }
  return result;
}

/// The parts of these widths: what concatenation() put together, and its gradient.
template <class Number>
std::vector<Matrix<Number>> split(const Matrix<Number>& whole, std::span<const std::int64_t> widths) {
  std::vector<Matrix<Number>> parts;
  std::int64_t first = 0;
  for (const std::int64_t width : widths) {
    parts.emplace_back(whole.rows, width);
    for (std::int64_t s = 0; s < whole.rows; ++s)
      std::ranges::copy(whole.row(s).subspan(first, width), parts.back().values.begin() + s * width);
    first += width;
  }
  return parts;
}

}  // namespace shardmark::reference
