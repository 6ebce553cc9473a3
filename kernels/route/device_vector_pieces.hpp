// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device_warps.hpp"
#include "kernels/route/vector_pieces.hpp"
#include "kernels/sort/balanced_ranges.hpp"

namespace shardmark::kernels::device {

/// Are the vectors of some bags of a piece: bag first + v step for v < count.
struct BagsApart {
  static constexpr int most = 2;  ///< loaded before they are stored

  std::int64_t first;
  int step, count;

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t bag(int v) const { return first + v * step; }
};

template <int Size>
struct Columns {};

/// Returns whether the vectors of a piece and of its partials begin at multiples of 16 bytes.
template <class Exec>
KOKKOS_FORCEINLINE_FUNCTION bool all_aligned(const Partials<Exec>& partials, const VectorPiece& piece,
                                             const float* home, const float* packed) {
  bool all = piece.dim % 4 == 0 && piece.home_stride % 4 == 0 && aligned(home + piece.home, 16);
  for (std::int64_t k = 0; k < piece.partials; ++k)
    all = all && aligned(packed + partials.list(piece.first_partial + k).packed, 16);
  return all;
}

/// Calls body(piece, bags, column, Columns<Size>{}) for Size columns at a time of consecutive vectors, which a warp
/// takes: BagsApart::most with each of its tiles at a time.
template <class Exec, class Body>
struct VectorKernel {
  static constexpr std::int64_t vectors_per_warp = 16;
  using Bounds = Kokkos::LaunchBounds<256, 4>;

  ConstArray<Exec, VectorPiece> pieces;
  std::int64_t rows;
  Body body;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const int lane = static_cast<int>(i % warp_lanes);
    const std::int64_t row = i / warp_lanes * vectors_per_warp;
    for_block_runs(
        pieces, row, Kokkos::min(row + vectors_per_warp, rows),
        [](const VectorPiece& piece) { return piece.first_row; },
        [&](const VectorPiece& piece, std::int64_t first, std::int64_t stop) {
          if (all_aligned(body.partials, piece, body.home.data(), body.packed.data()))
            take<4>(lane, piece, first - piece.first_row, stop - piece.first_row);
          else
            take<1>(lane, piece, first - piece.first_row, stop - piece.first_row);
        });
  }

 private:
  template <int Size>
  KOKKOS_FORCEINLINE_FUNCTION void take(int lane, const VectorPiece& piece, std::int64_t first,
                                        std::int64_t stop) const {
    const NumberedTile tile = tile_of(lane, (piece.dim + Size - 1) / Size);
    for (std::int64_t bag = first + tile.number; bag < stop; bag += BagsApart::most * tile.tiles()) {
      const BagsApart bags{
          bag, tile.tiles(),
          static_cast<int>(Kokkos::min(((stop - bag - 1) >> tile.others) + 1, std::int64_t{BagsApart::most}))};
      for (std::int64_t column = tile.lane * Size; column < piece.dim; column += tile.lanes * Size)
        body(piece, bags, column, Columns<Size>{});
    }
  }
};

template <class Exec, class Body>
void for_vectors(const std::string& label, const Exec& exec, ConstArray<Exec, VectorPiece> pieces, std::int64_t rows,
                 const Body& body) {
  using Kernel = VectorKernel<Exec, Body>;
  for_lanes<typename Kernel::Bounds>(label, exec, (rows + Kernel::vectors_per_warp - 1) / Kernel::vectors_per_warp,
                                     Kernel{pieces, rows, body});
}

template <class Exec>
struct SumPartials {
  Partials<Exec> partials;
  ConstArray<Exec, float> packed;
  Array<Exec, float> home;

  template <int Size>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const VectorPiece& piece, const BagsApart& bags, std::int64_t column,
                                              Columns<Size>) const {
    Chunk<float, Size> sums[BagsApart::most] = {}, vectors[BagsApart::most] = {};
    bool found[BagsApart::most] = {};
    for (std::int64_t k = 0; k < piece.partials; ++k) {
      bool has[BagsApart::most] = {};
      for (int v = 0; v < BagsApart::most; ++v)
        if (v < bags.count) {
          const std::int64_t at = partials.find(piece.first_partial + k, bags.bag(v), piece.dim);
          has[v] = at >= 0;
          if (has[v]) vectors[v] = load_read_only<Size>(packed.data() + at + column);
        }
      for (int v = 0; v < BagsApart::most; ++v)
        if (has[v]) {
          for (int i = 0; i < Size; ++i) sums[v].at[i] = found[v] ? sums[v].at[i] + vectors[v].at[i] : vectors[v].at[i];
          found[v] = true;
        }
    }
    for (int v = 0; v < BagsApart::most; ++v)
      if (v < bags.count)
        store_streaming<Size>(home.data() + piece.home + bags.bag(v) * piece.home_stride + column, sums[v]);
  }
};

template <class Exec>
struct CopyToPartials {
  Partials<Exec> partials;
  ConstArray<Exec, float> home;
  Array<Exec, float> packed;

  template <int Size>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const VectorPiece& piece, const BagsApart& bags, std::int64_t column,
                                              Columns<Size>) const {
    Chunk<float, Size> vectors[BagsApart::most] = {};
    for (int v = 0; v < BagsApart::most; ++v)
      if (v < bags.count)
        vectors[v] = load_read_only<Size>(home.data() + piece.home + bags.bag(v) * piece.home_stride + column);
    for (std::int64_t k = 0; k < piece.partials; ++k)
      for (int v = 0; v < BagsApart::most; ++v) {
        if (v >= bags.count) continue;
        const std::int64_t at = partials.find(piece.first_partial + k, bags.bag(v), piece.dim);
        if (at >= 0) store_streaming<Size>(packed.data() + at + column, vectors[v]);
      }
  }
};

}  // namespace shardmark::kernels::device
