// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

namespace shardmark::reference {

/// Quantizes a row to bytes: x is about scale q + offset, q in 0..255. It serves tables of ValueType::int8 and vectors
/// on the wire alike. All steps are fp32 operations, each rounded: no fused multiply-add. (FBGEMM has 8-bit rows too,
/// whose quantization multiplies by 255 / (max - min) instead.)
struct RowScale {
  float scale = 0.0F;   ///< (max - min) / 255; 0 for a constant row
  float offset = 0.0F;  ///< min

  /// Returns q: (x - offset) / scale to nearest, ties to even; 0 where the scale is 0.
  constexpr std::uint8_t quantized(float x) const {
    const float steps = scale == 0.0F ? 0.0F : (x - offset) / scale;
    if (!(steps < 255.0F)) return 255;
    const auto below = static_cast<std::uint32_t>(steps);
    const float rest = steps - static_cast<float>(below);
    return static_cast<std::uint8_t>(below + (rest > 0.5F || (rest == 0.5F && below % 2 == 1) ? 1 : 0));
  }

  /// Returns scale q + offset. The product is exact in double, so its conversion is the one rounding that it has in
  /// fp32.
  constexpr float value(std::uint8_t q) const {
    return static_cast<float>(static_cast<double>(scale) * static_cast<double>(q)) + offset;
  }
};

/// Returns the scale of a row with values from min to max. A range beyond the largest float ends there: values above
/// saturate.
constexpr RowScale row_scale(float min, float max) {
  constexpr float largest = std::numeric_limits<float>::max();
  return {(max - min > largest ? largest : max - min) / 255.0F, min};
}

/// Returns the scale of row [dim]: finite; dim > 0.
constexpr RowScale row_scale(std::span<const float> row) {
  const auto [min, max] = std::ranges::minmax(row);
  return row_scale(min, max);
}

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::RowScale, reference::row_scale;
}  // namespace shardmark
