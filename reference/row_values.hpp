// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reference/counter_random.hpp"

namespace shardmark::reference {

/// Gives the initial values of the tables, keyed (seed, table, row, column): the same for any placement, one cell at a
/// time.
///   unit == 0: uniform in [-scale, scale)
///   unit >  0: "exact" values k * unit with |k| <= 64; with a power-of-two unit, fp32 sums of them are exact.
struct RowValues {
  std::uint64_t seed = 0;
  float scale = 1.0F;
  float unit = 0.0F;

  constexpr float operator()(std::int64_t table, std::int64_t row, std::int64_t column) const {
    const std::uint64_t bits = random_bits(seed, table, row, column);
    if (unit > 0.0F) return static_cast<float>(symmetric_integer(bits, 64)) * unit;
    const auto centred = static_cast<std::int64_t>(bits >> 40) - (std::int64_t{1} << 23);
    return static_cast<float>(centred) * (scale * 0x1p-23F);
  }
};

/// Gives the gradients of the pooled outputs, keyed (seed, step, feature, sample, position in the bag, column): k *
/// unit with |k| <= 4. Position is 0 for pooled features. They are multiples of a power of two, so their fp32 sums do
/// not depend on order. They repeat after `distinct_steps`, so that many batches need the memory of few; a step differs
/// from the one before.
struct GradientValues {
  static constexpr std::int64_t distinct_steps = 2;

  std::uint64_t seed = 0;
  float unit = 0x1p-6F;

  constexpr float operator()(std::int64_t step, std::int64_t feature, std::int64_t sample, std::int64_t position,
                             std::int64_t column) const {
    const std::uint64_t bits = random_bits(~seed, step % distinct_steps, feature, sample, position, column);
    return static_cast<float>(symmetric_integer(bits, 4)) * unit;
  }
};

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::GradientValues, reference::RowValues;
}  // namespace shardmark
