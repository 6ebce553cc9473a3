// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"
#include "kernels/balanced_ranges.hpp"
#include "kernels/work.hpp"

namespace shardmark::kernels {

/// `dim` columns of `bags` consecutive vectors. At the home of their samples they lie at `home`, `home_stride` elements
/// from one vector to the next; on the way between ranks they are packed [bags, dim], once for each of the `partials`
/// that add up to them, at the elements packed_of[first_partial .. first_partial + partials).
struct VectorPiece {
  std::int64_t first_row = 0;  ///< sum of the bags of the pieces before it
  std::int64_t bags = 0;
  std::int64_t dim = 0;
  std::int64_t home = 0;
  std::int64_t home_stride = 0;
  std::int64_t first_partial = 0;
  std::int64_t partials = 1;
};

/// home vector = sum of its packed partials, in their order. Deterministic: one thread per vector.
/// pieces: ascending first_row;  packed_of: element of each partial's first vector in `packed`;  rows: sum of all bags.
template <class Exec>
void sum_partials(const Exec& exec, ConstArray<Exec, VectorPiece> pieces, ConstArray<Exec, std::int64_t> packed_of,
                  std::int64_t rows, ConstArray<Exec, float> packed, Array<Exec, float> home) {
  const auto count = static_cast<std::int64_t>(pieces.extent(0));
  Kokkos::parallel_for(
      "shardmark::sum_partials", static_range(exec, rows), KOKKOS_LAMBDA(const std::int64_t row) {
        const auto& piece = pieces(last_at_most(count, row, [&](std::int64_t p) { return pieces(p).first_row; }));
        const std::int64_t bag = row - piece.first_row;
        float* to = &home(piece.home + bag * piece.home_stride);
        for (std::int64_t k = 0; k < piece.partials; ++k) {
          const float* from = &packed(packed_of(piece.first_partial + k) + bag * piece.dim);
          if (k == 0)
            for (std::int64_t d = 0; d < piece.dim; ++d) to[d] = from[d];
          else
            for (std::int64_t d = 0; d < piece.dim; ++d) to[d] += from[d];
        }
      });
}

/// The way back: every partial of a piece gets a copy of the home vector.
template <class Exec>
void copy_to_partials(const Exec& exec, ConstArray<Exec, VectorPiece> pieces, ConstArray<Exec, std::int64_t> packed_of,
                      std::int64_t rows, ConstArray<Exec, float> home, Array<Exec, float> packed) {
  const auto count = static_cast<std::int64_t>(pieces.extent(0));
  Kokkos::parallel_for(
      "shardmark::copy_to_partials", static_range(exec, rows), KOKKOS_LAMBDA(const std::int64_t row) {
        const auto& piece = pieces(last_at_most(count, row, [&](std::int64_t p) { return pieces(p).first_row; }));
        const std::int64_t bag = row - piece.first_row;
        const float* from = &home(piece.home + bag * piece.home_stride);
        for (std::int64_t k = 0; k < piece.partials; ++k) {
          float* to = &packed(packed_of(piece.first_partial + k) + bag * piece.dim);
          for (std::int64_t d = 0; d < piece.dim; ++d) to[d] = from[d];
        }
      });
}

/// Work of either: `home_elements` vectors' values at home, `packed_elements` in all partials.
constexpr Work sum_partials_work(std::int64_t home_elements, std::int64_t packed_elements) {
  return {
      .bytes_read = packed_elements * 4, .bytes_written = home_elements * 4, .flops = packed_elements - home_elements};
}
constexpr Work copy_to_partials_work(std::int64_t home_elements, std::int64_t packed_elements) {
  return {.bytes_read = home_elements * 4, .bytes_written = packed_elements * 4, .flops = 0};
}

}  // namespace shardmark::kernels
