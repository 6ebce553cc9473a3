// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/update/row_gradients.hpp"

namespace shardmark::kernels {

/// Returns at how many places among n sorted positions a row with more than hot_row_piece positions can begin; it has
/// at most twice as many pieces.
constexpr std::int64_t hot_row_places(std::int64_t n) { return (n + hot_row_piece - 1) / hot_row_piece; }

/// Holds the pieces of the rows with more than hot_row_piece positions, and the sums of their gradients.
template <class Exec>
struct HotRows {
  ConstArray<Exec, RowPiece> pieces;
  ConstArray<Exec, std::int64_t> first_piece;  ///< by begin(u) / hot_row_piece, rounded up
  ConstArray<Exec, std::int64_t> piece_count;  ///< [1]
  Array<Exec, float> partial_sums;             ///< [pieces, largest_dim]
  std::int64_t largest_dim = 0;

  struct Pieces {
    std::int64_t first, stop;
  };
  /// Returns the numbers of the pieces of the hot row with the sorted positions [begin, end).
  KOKKOS_FORCEINLINE_FUNCTION Pieces of(std::int64_t begin, std::int64_t end) const {
    const std::int64_t first = first_piece((begin + hot_row_piece - 1) / hot_row_piece);
    return {first, first + (end - begin + hot_row_piece - 1) / hot_row_piece};
  }
  KOKKOS_FORCEINLINE_FUNCTION float* partial_sum(std::int64_t piece) const {
    return partial_sums.data() + piece * largest_dim;
  }
};

/// Lists the pieces of the hot rows; their sums are still to be computed. Such a row covers a multiple of
/// hot_row_piece, so only n / hot_row_piece places are inspected. The number of pieces stays on the device.
template <class Exec>
HotRows<Exec> list_hot_rows(const Exec& exec, const UniqueRows<Exec>& unique, std::int64_t largest_dim,
                            RowGradientsWorkspace<Exec>& workspace);

}  // namespace shardmark::kernels
