// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reference/counter_random.hpp"
#include "reference/value_type.hpp"

namespace shardmark::reference {

/// 16 uniform bits, above 16 zeros, for one value that step number `step` (from 1) updates, by its place in the whole
/// table: any placement and any order of rows rounds it alike. Four columns share one random number, which gives each
/// as many bits as rounding drops; only fp16's subnormal numbers drop more, whose mean is off by up to 2^-16 of a
/// quantum. row_bits: random_bits(seed, step, table, row), which the columns of a row have in common.
constexpr std::uint32_t rounding_bits(std::uint64_t row_bits, std::int64_t column) {
  const std::uint64_t number = next_random_bits(row_bits, static_cast<std::uint64_t>(column / 4));
  return static_cast<std::uint32_t>(number >> 16 * (column % 4)) << 16;
}
/// The programs take RowValues::seed as seed.
constexpr std::uint32_t rounding_bits(std::uint64_t seed, std::int64_t step, std::int64_t table, std::int64_t row,
                                      std::int64_t column) {
  return rounding_bits(random_bits(seed, step, table, row), column);
}

/// `value` as a table of this type stores it; int8, which depends on the whole row, is in row_quantization.hpp.
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

/// How the updated values of one row, computed in fp32, become values of their table.
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
