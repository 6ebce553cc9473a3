// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"
#include "kernels/balanced_ranges.hpp"
#include "kernels/column_blocks.hpp"
#include "kernels/streamed_output.hpp"
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

namespace detail {

/// Calls body(piece, first bag, end of the bags, dim) for runs of vectors of one piece.
template <class Exec, class Body>
void for_vector_runs(const std::string& label, const Exec& exec, ConstArray<Exec, VectorPiece> pieces,
                     std::int64_t rows, const Body& body) {
  constexpr std::int64_t grain = on_device<Exec> ? 1 : 64;
  const auto count = static_cast<std::int64_t>(pieces.extent(0));
  Kokkos::parallel_for(
      label, static_range(exec, (rows + grain - 1) / grain), KOKKOS_LAMBDA(const std::int64_t range) {
        const std::int64_t end = Kokkos::min(rows, (range + 1) * grain);
        std::int64_t row = range * grain;
        for (auto p = last_at_most(count, row, [&](std::int64_t i) { return pieces(i).first_row; }); row < end; ++p) {
          const VectorPiece& piece = pieces(p);
          const std::int64_t stop = Kokkos::min(end, piece.first_row + piece.bags);
          with_width(piece.dim, [&](auto dim) { body(piece, row - piece.first_row, stop - piece.first_row, dim); });
          row = stop;
        }
        finish_stores_past_caches();
      });
}

/// Bodies of for_vector_runs. (Classes, because nvcc takes no generic lambdas into a kernel.)
template <class Exec>
struct SumPartials {
  Partials<Exec> partials;
  ConstArray<Exec, float> packed;
  Array<Exec, float> home;

  template <class Dim>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const VectorPiece& piece, std::int64_t first, std::int64_t end,
                                              Dim dim) const {
    const bool past_caches = streams_output(home, piece.home_stride, dim, home.data() + piece.home);
    for (std::int64_t bag = first; bag < end; ++bag)
      for (std::int64_t c = 0; c < dim; c += lane_count)
        store(home.data() + piece.home + bag * piece.home_stride + c, sum(piece, bag, c, dim), dim - c, past_caches);
  }

  /// Of columns c .. c + lane_count.
  template <class Dim>
  KOKKOS_FORCEINLINE_FUNCTION Lanes sum(const VectorPiece& piece, std::int64_t bag, std::int64_t c, Dim dim) const {
    Lanes sum = 0.0F;
    bool found = false;
    for (std::int64_t k = 0; k < piece.partials; ++k) {
      const std::int64_t at = partials.find(piece.first_partial + k, bag, dim);
      if (at < 0) continue;
      const Lanes partial = load_lanes(packed.data() + at + c, dim - c);
      sum = found ? sum + partial : partial;
      found = true;
    }
    return sum;
  }
};

template <class Exec>
struct CopyToPartials {
  Partials<Exec> partials;
  ConstArray<Exec, float> home;
  Array<Exec, float> packed;

  template <class Dim>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const VectorPiece& piece, std::int64_t first, std::int64_t end,
                                              Dim dim) const {
    for (std::int64_t k = 0; k < piece.partials; ++k)
      for (std::int64_t bag = first; bag < end; ++bag) {
        const std::int64_t at = partials.find(piece.first_partial + k, bag, dim);
        if (at < 0) continue;
        float* to = packed.data() + at;
        copy_vector(home.data() + piece.home + bag * piece.home_stride, to, dim, streams_output(packed, dim, dim, to));
      }
  }
};

}  // namespace detail

/// home vector = sum of its packed partials, in their order; 0 if it has none. Deterministic: one thread per vector.
/// pieces: ascending first_row;  rows: sum of all bags.
template <class Exec>
void sum_partials(const Exec& exec, ConstArray<Exec, VectorPiece> pieces, const Partials<Exec>& partials,
                  std::int64_t rows, ConstArray<Exec, float> packed, const Array<Exec, float>& home) {
  detail::for_vector_runs("shardmark::sum_partials", exec, pieces, rows,
                          detail::SumPartials<Exec>{partials, packed, home});
}

/// The way back: every partial of a piece gets a copy of the home vector.
template <class Exec>
void copy_to_partials(const Exec& exec, ConstArray<Exec, VectorPiece> pieces, const Partials<Exec>& partials,
                      std::int64_t rows, ConstArray<Exec, float> home, const Array<Exec, float>& packed) {
  detail::for_vector_runs("shardmark::copy_to_partials", exec, pieces, rows,
                          detail::CopyToPartials<Exec>{partials, home, packed});
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
