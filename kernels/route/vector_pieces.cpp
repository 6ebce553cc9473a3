// SPDX-License-Identifier: Apache-2.0
#include "kernels/route/vector_pieces.hpp"

#include <type_traits>

#include "kernels/instantiate.hpp"
#include "kernels/lookup/column_blocks.hpp"
#include "kernels/lookup/streamed_output.hpp"
#include "kernels/route/device_vector_pieces.hpp"
#include "kernels/sort/balanced_ranges.hpp"

namespace shardmark::kernels {

/// Returns whether the vectors of a piece lie one behind the other at home and in each of its partials.
template <class Exec>
KOKKOS_INLINE_FUNCTION bool lies_in_a_row(const VectorPiece& piece, const Partials<Exec>& partials) {
  bool in_a_row = piece.home_stride == piece.dim;
  for (std::int64_t k = 0; k < piece.partials; ++k) in_a_row &= partials.list(piece.first_partial + k).first_cell < 0;
  return in_a_row;
}

/// Calls body(piece, first bag, end of the bags, dim) for runs of vectors of one piece, but body.in_a_row(piece, first
/// column, end of the columns) for those that are one vector, the columns of all bags.
template <class Exec, class Body>
void for_vector_runs(const std::string& label, const Exec& exec, ConstArray<Exec, VectorPiece> pieces,
                     std::int64_t rows, const Body& body) {
  constexpr std::int64_t grain = 64;
  const auto count = static_cast<std::int64_t>(pieces.extent(0));
  Kokkos::parallel_for(
      label, static_range(exec, (rows + grain - 1) / grain), KOKKOS_LAMBDA(const std::int64_t range) {
        const std::int64_t end = Kokkos::min(rows, (range + 1) * grain);
        std::int64_t row = range * grain;
        for (auto p = last_at_most(count, row, [&](std::int64_t i) { return pieces(i).first_row; }); row < end; ++p) {
          const VectorPiece& piece = pieces(p);
          const std::int64_t stop = Kokkos::min(end, piece.first_row + piece.bags);
          const std::int64_t first = row - piece.first_row, after = stop - piece.first_row;
          if (lies_in_a_row(piece, body.partials))
            body.in_a_row(piece, first * piece.dim, after * piece.dim);
          else
            with_width(piece.dim, [&](auto dim) { body(piece, first, after, dim); });
          row = stop;
        }
        finish_stores_past_caches();
      });
}

/// These are the bodies of for_vector_runs. (They are classes because nvcc takes no generic lambdas into a kernel.)
template <class Exec>
struct SumPartials {
  Partials<Exec> partials;
  ConstArray<Exec, float> packed;
  Array<Exec, float> home;

  template <class Dim>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const VectorPiece& of, std::int64_t first, std::int64_t end,
                                              Dim dim) const {
    // Copies stay in registers: stores of Simd may change anything else, as far as the compiler knows.
    const VectorPiece piece = of;
    const SumPartials sums = *this;
    const bool past_caches = streams_output(home, piece.home_stride, dim, home.data() + piece.home);
    for (std::int64_t bag = first; bag < end; ++bag) {
      const auto add = [&](std::int64_t column, auto block) { sums.sum(piece, bag, dim, column, block, past_caches); };
      if constexpr (std::is_same_v<Dim, AnyWidth>)
        for_blocks<4 * simd_width, simd_width>(dim, add);
      else
        add(0, dim);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void in_a_row(const VectorPiece& of, std::int64_t first, std::int64_t end) const {
    const VectorPiece piece = of;
    const SumPartials sums = *this;
    const bool past_caches = streams_output(home, simd_width, simd_width, home.data() + piece.home + first);
    for_blocks<4 * simd_width, simd_width>(
        end, [&](std::int64_t column, auto block) { sums.sum(piece, 0, piece.dim, column, block, past_caches); },
        first);
  }

  /// Sums a block of columns: each partial is found once for all of them.
  template <class Width>
  KOKKOS_FORCEINLINE_FUNCTION void sum(const VectorPiece& piece, std::int64_t bag, std::int64_t dim,
                                       std::int64_t column, Width width, bool past_caches) const {
    Simd sums[(Width::capacity + simd_width - 1) / simd_width];
    for (Simd& lanes : sums) lanes = 0.0F;
    bool found = false;
    for (std::int64_t k = 0; k < piece.partials; ++k) {
      const std::int64_t at = partials.find(piece.first_partial + k, bag, dim);
      if (at < 0) continue;
      const float* partial = packed.data() + at + column;
      for (std::int64_t c = 0; c < Width::capacity; c += simd_width) {
        const Simd lanes = load_simd(partial + c, width - c);
        sums[c / simd_width] = found ? sums[c / simd_width] + lanes : lanes;
      }
      found = true;
    }
    float* to = home.data() + piece.home + bag * piece.home_stride + column;
    for (std::int64_t c = 0; c < Width::capacity; c += simd_width)
      store(to + c, sums[c / simd_width], width - c, past_caches);
  }
};

template <class Exec>
struct CopyToPartials {
  Partials<Exec> partials;
  ConstArray<Exec, float> home;
  Array<Exec, float> packed;
  std::int64_t streamed;  ///< see streams_output

  template <class Dim>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const VectorPiece& piece, std::int64_t first, std::int64_t end,
                                              Dim dim) const {
    for (std::int64_t k = 0; k < piece.partials; ++k)
      for (std::int64_t bag = first; bag < end; ++bag) {
        const std::int64_t at = partials.find(piece.first_partial + k, bag, dim);
        if (at < 0) continue;
        float* to = packed.data() + at;
        copy_vector(home.data() + piece.home + bag * piece.home_stride, to, dim,
                    streams_output(packed, dim, dim, to, streamed));
      }
  }

  KOKKOS_FORCEINLINE_FUNCTION void in_a_row(const VectorPiece& piece, std::int64_t first, std::int64_t end) const {
    for (std::int64_t k = 0; k < piece.partials; ++k) {
      float* to = packed.data() + partials.find(piece.first_partial + k, 0, piece.dim) + first;
      copy_vector(home.data() + piece.home + first, to, end - first,
                  streams_output(packed, simd_width, simd_width, to, streamed));
    }
  }
};

template <class Exec>
void sum_partials(const Exec& exec, ConstArray<Exec, VectorPiece> pieces, const Partials<Exec>& partials,
                  std::int64_t rows, ConstArray<Exec, float> packed, const Array<Exec, float>& home) {
  if constexpr (on_device<Exec>)
    device::for_vectors("shardmark::sum_partials", exec, pieces, rows,
                        device::SumPartials<Exec>{partials, packed, home});
  else
    for_vector_runs("shardmark::sum_partials", exec, pieces, rows, SumPartials<Exec>{partials, packed, home});
}

template <class Exec>
void copy_to_partials(const Exec& exec, ConstArray<Exec, VectorPiece> pieces, const Partials<Exec>& partials,
                      std::int64_t rows, ConstArray<Exec, float> home, const Array<Exec, float>& packed,
                      [[maybe_unused]] Readers readers) {
  if constexpr (on_device<Exec>)
    device::for_vectors("shardmark::copy_to_partials", exec, pieces, rows,
                        device::CopyToPartials<Exec>{partials, home, packed});
  else
    for_vector_runs("shardmark::copy_to_partials", exec, pieces, rows,
                    CopyToPartials<Exec>{partials, home, packed, streamed_copy(readers)});
}

SHARDMARK_INSTANCE(sum_partials<DefaultSpace>)
SHARDMARK_INSTANCE(copy_to_partials<DefaultSpace>)

}  // namespace shardmark::kernels
