// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"
#include "kernels/balanced_ranges.hpp"
#include "kernels/work.hpp"

namespace shardmark::kernels {

/// `dim` columns of `bags` consecutive vectors. At the home of their samples they lie at `home`, `home_stride` elements
/// from one vector to the next; on the way between ranks they are packed, once for each of the `partials` that add up
/// to them: partials[first_partial .. first_partial + partials).
struct VectorPiece {
  std::int64_t first_row = 0;  ///< sum of the bags of the pieces before it
  std::int64_t bags = 0;
  std::int64_t dim = 0;
  std::int64_t home = 0;
  std::int64_t home_stride = 0;
  std::int64_t first_partial = 0;
  std::int64_t partials = 1;
};

/// One of the partials of a piece: packed [bags, dim] or, where only some bags have a vector, those of them one behind
/// the other.
struct Partial {
  std::int64_t packed = 0;       ///< element of its first vector
  std::int64_t first_cell = -1;  ///< where its bags begin in `vectors_before`; -1: every bag has a vector
};

template <class Exec>
struct Partials {
  ConstArray<Exec, Partial> list;
  ConstArray<Exec, std::int64_t> vectors_before;  ///< [cells + 1]: vectors of the cells (partial, bag) before each

  /// Element of the vector of a bag in its packed partial, or -1.
  KOKKOS_INLINE_FUNCTION std::int64_t find(std::int64_t number, std::int64_t bag, std::int64_t dim) const {
    const auto& partial = list(number);
    if (partial.first_cell < 0) return partial.packed + bag * dim;
    const std::int64_t cell = partial.first_cell + bag;
    const std::int64_t before = vectors_before(cell);
    if (vectors_before(cell + 1) == before) return -1;
    return partial.packed + (before - vectors_before(partial.first_cell)) * dim;
  }
};

/// home vector = sum of its packed partials, in their order; 0 if it has none. Deterministic: one thread per vector.
/// pieces: ascending first_row;  rows: sum of all bags.
template <class Exec>
void sum_partials(const Exec& exec, ConstArray<Exec, VectorPiece> pieces, const Partials<Exec>& partials,
                  std::int64_t rows, ConstArray<Exec, float> packed, Array<Exec, float> home) {
  const auto count = static_cast<std::int64_t>(pieces.extent(0));
  Kokkos::parallel_for(
      "shardmark::sum_partials", static_range(exec, rows), KOKKOS_LAMBDA(const std::int64_t row) {
        const auto& piece = pieces(last_at_most(count, row, [&](std::int64_t p) { return pieces(p).first_row; }));
        const std::int64_t bag = row - piece.first_row;
        float* to = &home(piece.home + bag * piece.home_stride);
        bool first = true;
        for (std::int64_t k = 0; k < piece.partials; ++k) {
          const std::int64_t at = partials.find(piece.first_partial + k, bag, piece.dim);
          if (at < 0) continue;
          const float* from = &packed(at);
          if (first)
            for (std::int64_t d = 0; d < piece.dim; ++d) to[d] = from[d];
          else
            for (std::int64_t d = 0; d < piece.dim; ++d) to[d] += from[d];
          first = false;
        }
        for (std::int64_t d = 0; first && d < piece.dim; ++d) to[d] = 0;
      });
}

/// The way back: every partial of a piece gets a copy of the home vector.
template <class Exec>
void copy_to_partials(const Exec& exec, ConstArray<Exec, VectorPiece> pieces, const Partials<Exec>& partials,
                      std::int64_t rows, ConstArray<Exec, float> home, Array<Exec, float> packed) {
  const auto count = static_cast<std::int64_t>(pieces.extent(0));
  Kokkos::parallel_for(
      "shardmark::copy_to_partials", static_range(exec, rows), KOKKOS_LAMBDA(const std::int64_t row) {
        const auto& piece = pieces(last_at_most(count, row, [&](std::int64_t p) { return pieces(p).first_row; }));
        const std::int64_t bag = row - piece.first_row;
        const float* from = &home(piece.home + bag * piece.home_stride);
        for (std::int64_t k = 0; k < piece.partials; ++k) {
          const std::int64_t at = partials.find(piece.first_partial + k, bag, piece.dim);
          if (at < 0) continue;
          float* to = &packed(at);
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
