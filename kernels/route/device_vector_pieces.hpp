// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device_warps.hpp"
#include "kernels/route/vector_pieces.hpp"

namespace shardmark::kernels::device {

/// Calls body(piece, bag, column, Chunk<float, Size>{}) for Size columns at a time of consecutive vectors, which a warp
/// takes: one with each of its tiles at a time. `apart` and `packed`: arrays that hold the vectors at home and packed.
template <class Exec, class Body>
struct VectorKernel {
  static constexpr std::int64_t vectors_per_warp = 8;
  using Bounds = Kokkos::LaunchBounds<256, 6>;

  ConstArray<Exec, VectorPiece> pieces;
  std::int64_t rows;
  Body body;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const int lane = static_cast<int>(i % warp_lanes<Exec>);
    const std::int64_t row = i / warp_lanes<Exec> * vectors_per_warp;
    for_block_runs(
        pieces, row, Kokkos::min(row + vectors_per_warp, rows),
        [](const VectorPiece& piece) { return piece.first_row; },
        [&](const VectorPiece& piece, std::int64_t first, std::int64_t stop) {
          if (body.fours(piece))
            take<4>(lane, piece, first - piece.first_row, stop - piece.first_row);
          else
            take<1>(lane, piece, first - piece.first_row, stop - piece.first_row);
        });
  }

 private:
  template <int Size>
  KOKKOS_FORCEINLINE_FUNCTION void take(int lane, const VectorPiece& piece, std::int64_t first,
                                        std::int64_t stop) const {
    const Tile tile = tile_of<Exec>(lane, (piece.dim + Size - 1) / Size);
    for (std::int64_t bag = first + tile.number; bag < stop; bag += tile.tiles())
      for (std::int64_t column = tile.lane * Size; column < piece.dim; column += tile.lanes() * Size)
        body(piece, bag, column, Chunk<float, Size>{});
  }
};

template <class Exec, class Body>
void for_vectors(const std::string& label, const Exec& exec, ConstArray<Exec, VectorPiece> pieces, std::int64_t rows,
                 const Body& body) {
  using Kernel = VectorKernel<Exec, Body>;
  for_lanes<typename Kernel::Bounds>(label, exec, (rows + Kernel::vectors_per_warp - 1) / Kernel::vectors_per_warp,
                                     Kernel{pieces, rows, body});
}

/// Returns whether the vectors of a piece and of its partials begin at multiples of 16 bytes.
template <class Exec>
KOKKOS_FORCEINLINE_FUNCTION bool all_aligned(const Partials<Exec>& partials, const VectorPiece& piece,
                                             const float* home, const float* packed) {
  bool all = piece.dim % 4 == 0 && piece.home_stride % 4 == 0 && aligned(home + piece.home, 16);
  for (std::int64_t k = 0; k < piece.partials; ++k)
    all = all && aligned(packed + partials.list(piece.first_partial + k).packed, 16);
  return all;
}

template <class Exec>
struct SumPartials {
  Partials<Exec> partials;
  ConstArray<Exec, float> packed;
  Array<Exec, float> home;

  KOKKOS_FORCEINLINE_FUNCTION bool fours(const VectorPiece& piece) const {
    return all_aligned(partials, piece, home.data(), packed.data());
  }

  template <int Size>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const VectorPiece& piece, std::int64_t bag, std::int64_t column,
                                              Chunk<float, Size> sum) const {
    bool found = false;
    for (std::int64_t k = 0; k < piece.partials; ++k) {
      const std::int64_t at = partials.find(piece.first_partial + k, bag, piece.dim);
      if (at < 0) continue;
      const auto partial = load_read_only<Size>(packed.data() + at + column);
      for (int i = 0; i < Size; ++i) sum.at[i] = found ? sum.at[i] + partial.at[i] : partial.at[i];
      found = true;
    }
    store_streaming<Size>(home.data() + piece.home + bag * piece.home_stride + column, sum);
  }
};

template <class Exec>
struct CopyToPartials {
  Partials<Exec> partials;
  ConstArray<Exec, float> home;
  Array<Exec, float> packed;

  KOKKOS_FORCEINLINE_FUNCTION bool fours(const VectorPiece& piece) const {
    return all_aligned(partials, piece, home.data(), packed.data());
  }

  template <int Size>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const VectorPiece& piece, std::int64_t bag, std::int64_t column,
                                              Chunk<float, Size> vector) const {
    vector = load_read_only<Size>(home.data() + piece.home + bag * piece.home_stride + column);
    for (std::int64_t k = 0; k < piece.partials; ++k)
      if (const std::int64_t at = partials.find(piece.first_partial + k, bag, piece.dim); at >= 0)
        store_streaming<Size>(packed.data() + at + column, vector);
  }
};

}  // namespace shardmark::kernels::device
