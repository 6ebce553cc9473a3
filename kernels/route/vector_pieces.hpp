// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"
#include "kernels/readers.hpp"

namespace shardmark::kernels {

/// Describes `dim` columns of `bags` consecutive pooled embeddings. At the home of their samples they lie at `home`,
/// `home_stride` elements from one to the next; between ranks they travel packed, once for each of the `partials` that
/// add up to them: partials[first_partial .. first_partial + partials).
struct VectorPiece {
  std::int64_t first_row = 0;  ///< sum of the bags of the pieces before it
  std::int64_t bags = 0;
  std::int64_t dim = 0;
  std::int64_t home = 0;
  std::int64_t home_stride = 0;
  std::int64_t first_partial = 0;
  std::int64_t partials = 1;
};

/// Describes one of the partials of a piece, which is packed as [bags, dim] or, where only some bags have a vector, as
/// the vectors of those one behind the other.
struct Partial {
  std::int64_t packed = 0;       ///< element of its first vector
  std::int64_t first_cell = -1;  ///< where its bags begin in `vectors_before`; -1: every bag has a vector
};

template <class Exec>
struct Partials {
  ConstArray<Exec, Partial> list;
  ConstArray<Exec, std::int64_t> vectors_before;  ///< [cells + 1]: vectors of the cells (partial, bag) before each

  /// Returns the element where the vector of a bag begins in its packed partial, or -1 if it has none.
  KOKKOS_INLINE_FUNCTION std::int64_t find(std::int64_t number, std::int64_t bag, std::int64_t dim) const {
    const auto& partial = list(number);
    if (partial.first_cell < 0) return partial.packed + bag * dim;
    const std::int64_t cell = partial.first_cell + bag;
    const std::int64_t before = vectors_before(cell);
    if (vectors_before(cell + 1) == before) return -1;
    return partial.packed + (before - vectors_before(partial.first_cell)) * dim;
  }
};

/// Sets each vector at home to the sum of its packed partials, in their order; to 0 if it has none. It is
/// deterministic: one thread computes a column of a vector.
///   pieces: ascending first_row;  rows: sum of all bags.
template <class Exec>
void sum_partials(const Exec& exec, ConstArray<Exec, VectorPiece> pieces, const Partials<Exec>& partials,
                  std::int64_t rows, ConstArray<Exec, float> packed, const Array<Exec, float>& home);

/// Copies the vector at home to every partial of its piece: the backward direction. readers: of `packed`.
template <class Exec>
void copy_to_partials(const Exec& exec, ConstArray<Exec, VectorPiece> pieces, const Partials<Exec>& partials,
                      std::int64_t rows, ConstArray<Exec, float> home, const Array<Exec, float>& packed,
                      Readers readers = Readers::near);

}  // namespace shardmark::kernels
