// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>

#include "reference/rounding.hpp"
#include "reference/value_type.hpp"

namespace shardmark::reference {

/// Holds the value types of the rows and gradients on the wire: forward to the homes of the samples, backward as
/// gradients to the owners.
struct WireTypes {
  ValueType forward = ValueType::fp32;
  ValueType backward = ValueType::fp32;

  bool operator==(const WireTypes&) const = default;
};

/// Is one column of terms w x that travel, whatever the partial sums that are rounded.
struct Travelling {
  double magnitude = 0.0;  ///< sum of |w x|
  double of_vector = 0.0;  ///< sum of the terms' largest |w x| in any column: what int8 rounds by
  double weights = 0.0;    ///< sum of 1 + |w|

  void add(double weight, double x, double largest_x) {
    magnitude += std::abs(weight * x);
    of_vector += std::abs(weight) * largest_x;
    weights += 1.0 + std::abs(weight);
  }
};

/// Returns by how much the sum of the rounded parts may differ from the sum: half a unit in the last place of each part
/// (or of the smallest numbers), for int8 half of (max - min) / 255 and two fp32 roundings; and what saturates.
inline double wire_bound(ValueType type, const Travelling& sum) {
  constexpr double of_later_roundings = 1.0 + 0x1p-10;
  const auto bound = [&](double relative, double smallest, double largest) {
    return of_later_roundings * (relative * sum.magnitude + smallest * sum.weights) +
           std::max(0.0, sum.magnitude - largest);
  };
  switch (type) {
    case ValueType::fp16:
      return bound(0x1p-11, 0x1p-25, 65504.0);
    case ValueType::bf16:
      return bound(0x1p-8, 0x1p-134, 0x1.fep127);
    case ValueType::int8:
      return sum.of_vector * (1.0 / 255 + 0x1p-20) + 0x1p-140 * sum.weights +
             std::max(0.0, 2 * sum.of_vector - double{std::numeric_limits<float>::max()});
    default:
      return 0.0;
  }
}

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::WireTypes;
}  // namespace shardmark
