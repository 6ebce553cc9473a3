// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/wire/wire_codec.hpp"

namespace shardmark::kernels {

/// Compares vectors x with what they became, y.
struct VectorErrors {
  double squares = 0.0;        ///< sum of x^2
  double error_squares = 0.0;  ///< sum of (y - x)^2
  double largest = 0.0;        ///< max over vectors of max |y - x| / max |x|; vectors of zeros do not count

  KOKKOS_FUNCTION VectorErrors& operator+=(const VectorErrors& other) {
    squares += other.squares;
    error_squares += other.error_squares;
    largest = largest > other.largest ? largest : other.largest;
    return *this;
  }
};

/// Returns the errors of `became` as a copy of `vectors`, both laid out as the blocks' vectors (see encode_wire).
template <class Exec>
VectorErrors vector_errors(const Exec& exec, std::int64_t rows, ConstArray<Exec, WireBlock> blocks,
                           ConstArray<Exec, float> vectors, ConstArray<Exec, float> became);

}  // namespace shardmark::kernels
