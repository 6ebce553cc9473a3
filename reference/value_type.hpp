// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

#include "reference/named.hpp"

namespace shardmark::reference {

/// Selects how a table keeps the values of its rows. Sums over rows, gradients and optimizer state are fp32 whatever
/// the table.
///   fp16  IEEE 754 binary16: 11 bits of significand, up to 65504
///   bf16  the upper half of fp32: 8 bits of significand, its range
///   int8  unsigned byte q beside a scale and an offset per row: scale q + offset; can be looked up, not trained
enum class ValueType { fp32, fp16, bf16, int8 };

inline constexpr std::array value_types{
    Choice<ValueType>{"fp32", "IEEE single precision", ValueType::fp32},
    Choice<ValueType>{"fp16", "IEEE half precision", ValueType::fp16},
    Choice<ValueType>{"bf16", "the upper half of fp32", ValueType::bf16},
    Choice<ValueType>{"int8", "bytes with a scale and an offset per row; for lookup only", ValueType::int8},
};
constexpr auto choices_of(ValueType) { return Choices{"value type", value_types}; }

/// Returns the bytes of one row of `dim` values. int8: two floats, scale then offset, and `dim` bytes, padded to a
/// multiple of 4.
constexpr std::int64_t row_bytes(ValueType type, std::int64_t dim) {
  switch (type) {
    case ValueType::fp32:
      return dim * 4;
    case ValueType::int8:
      return 8 + (dim + 3) / 4 * 4;
    default:
      return dim * 2;
  }
}

/// These hold the bits of a binary16 and of a bfloat16. Both convert to float exactly.
struct Fp16 {
  std::uint16_t bits = 0;
};
struct Bf16 {
  std::uint16_t bits = 0;
};

constexpr float to_float(float value) { return value; }
constexpr float to_float(Bf16 value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16); }
/// Converts to float: exponent and significand shifted into place are the value times 2^-112, subnormal numbers
/// included.
constexpr float to_float(Fp16 value) {
  const std::uint32_t magnitude = static_cast<std::uint32_t>(value.bits & 0x7fffU) << 13;
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16;
  const std::uint32_t finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
  return std::bit_cast<float>(sign | ((value.bits & 0x7c00U) == 0x7c00U ? magnitude | 0x7f800000U : finite));
}

/// Returns `value` as a T (float, Fp16, Bf16), rounded to nearest, ties to even. A finite value stays finite: it
/// saturates.
template <class T>
constexpr T rounded_to(float value);

/// Returns the neighbour of `value` above with the probability of its distance from the one below, so that the mean is
/// `value`; `random`: 32 uniform bits. Saturates as rounded_to does.
template <class T>
constexpr T stochastically_rounded_to(float value, std::uint32_t random);

template <>
constexpr float rounded_to<float>(float value) {
  return value;
}
template <>
constexpr float stochastically_rounded_to<float>(float value, std::uint32_t) {
  return value;
}

namespace detail {

/// Returns the upper half of `bits` after `below` was added to the lower one; the largest finite value where that
/// overflows.
constexpr Bf16 bf16_of(std::uint32_t bits, std::uint32_t below) {
  const std::uint32_t sign = bits & 0x80000000U;
  const std::uint32_t magnitude = bits ^ sign;
  const std::uint32_t finite = magnitude + below < 0x7f800000U ? magnitude + below : 0x7f7fffffU;
  const std::uint32_t special = magnitude > 0x7f800000U ? 0x7fc00000U : magnitude;  // NaN or infinite
  return {static_cast<std::uint16_t>((sign | (magnitude < 0x7f800000U ? finite : special)) >> 16)};
}

/// Returns a binary16 made of the magnitude bits that its number, infinite or NaN included, has.
constexpr Fp16 fp16_of(std::uint32_t bits, std::uint32_t normal, std::uint32_t subnormal) {
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t finite = magnitude < 0x38800000U ? subnormal : normal < 0x7c00U ? normal : 0x7bffU;
  const std::uint32_t special = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;
  return {static_cast<std::uint16_t>((bits >> 31) << 15 | (magnitude < 0x7f800000U ? finite : special))};
}

/// Returns the magnitude bits of a normal binary16 after `below` was added to the 13 bits that it drops; at most
/// 0x7c00.
constexpr std::uint32_t fp16_normal(std::uint32_t bits, std::uint32_t below) {
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t rebased = (magnitude + below - 0x38000000U) >> 13;
  return magnitude < 0x47800000U ? rebased : 0x7c00U;
}

}  // namespace detail

template <>
constexpr Bf16 rounded_to<Bf16>(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return detail::bf16_of(bits, 0x7fffU + (bits >> 16 & 1U));
}
template <>
constexpr Bf16 stochastically_rounded_to<Bf16>(float value, std::uint32_t random) {
  return detail::bf16_of(std::bit_cast<std::uint32_t>(value), random >> 16);
}

/// Rounds to binary16. Its subnormal numbers are multiples of 2^-24: adding 0.5 leaves just these bits of the
/// magnitude, rounded.
template <>
constexpr Fp16 rounded_to<Fp16>(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const float shifted = std::bit_cast<float>(bits & 0x7fffffffU) + 0.5F;
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U;
  return detail::fp16_of(bits, detail::fp16_normal(bits, 0xfffU + (bits >> 13 & 1U)), subnormal);
}
template <>
constexpr Fp16 stochastically_rounded_to<Fp16>(float value, std::uint32_t random) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const float magnitude = std::bit_cast<float>(bits & 0x7fffffffU);
  const float quanta = magnitude < 0x1p-14F ? magnitude * 0x1p24F : 0.0F;
  const auto whole = static_cast<std::uint32_t>(quanta);
  const bool up = static_cast<float>(random >> 8) * 0x1p-24F < quanta - static_cast<float>(whole);
  return detail::fp16_of(bits, detail::fp16_normal(bits, random >> 19), whole + up);
}

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::Bf16, reference::Fp16, reference::ValueType, reference::rounded_to, reference::row_bytes,
    reference::stochastically_rounded_to, reference::to_float, reference::value_types;
}  // namespace shardmark
