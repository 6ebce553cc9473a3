// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"

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
                  std::int64_t rows, ConstArray<Exec, float> packed, const Array<Exec, float>& home);

/// The way back: every partial of a piece gets a copy of the home vector.
template <class Exec>
void copy_to_partials(const Exec& exec, ConstArray<Exec, VectorPiece> pieces, const Partials<Exec>& partials,
                      std::int64_t rows, ConstArray<Exec, float> home, const Array<Exec, float>& packed);

}  // namespace shardmark::kernels
