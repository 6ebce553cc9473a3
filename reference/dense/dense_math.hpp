// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "reference/named.hpp"

namespace shardmark::reference {

/// Selects how the products of a dense model are computed; all else of it is fp32.
enum class DenseMath { fp32, tf32 };

inline constexpr std::array dense_maths{
    Choice<DenseMath>{"fp32", "in fp32, without TF32", DenseMath::fp32},
    Choice<DenseMath>{"tf32",
                      "on GPUs, of operands in TF32 (10 bits behind the point), whose products are added in fp32",
                      DenseMath::tf32},
};
constexpr auto choices_of(DenseMath) { return Choices{"dense math", dense_maths}; }

/// Returns what a product in TF32 reads of a number: 8 bits of exponent and 10 behind the point. GPUs may round to
/// them, or cut the others off (wgmma on an H100), as here: the larger error, and to the same side.
constexpr float as_tf32(float x) {
  constexpr std::uint32_t cut_off = (std::uint32_t{1} << 13) - 1;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & ~cut_off);
}
/// The definition of what is right rounds nothing.
constexpr double as_tf32(double x) { return x; }

/// Says how products are computed in a pass over some of the samples of a global batch.
struct Products {
  DenseMath math = DenseMath::fp32;
  std::int64_t global_batch = 1;
};

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::DenseMath;
}  // namespace shardmark
