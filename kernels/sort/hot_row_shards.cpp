// SPDX-License-Identifier: Apache-2.0
#include "kernels/sort/hot_row_shards.hpp"

#include "kernels/instantiate.hpp"

namespace shardmark::kernels {

template <class Exec>
HotRows<Exec> list_hot_rows(const Exec& exec, const UniqueRows<Exec>& unique, std::int64_t largest_dim,
                            RowGradientsWorkspace<Exec>& workspace) {
  const std::int64_t places = hot_row_places(unique.positions());
  const Array<Exec, RowPiece> pieces = workspace.pieces.first(2 * places);
  const Array<Exec, std::int64_t> first_piece = workspace.first_piece.first(places);
  const Array<Exec, std::int64_t> piece_count = workspace.piece_count.first(1);
  Kokkos::parallel_scan(
      "shardmark::hot_rows", static_range(exec, places),
      KOKKOS_LAMBDA(const std::int64_t place, std::int64_t& next, const bool final) {
        const std::int64_t count = unique.count();
        if (place * hot_row_piece < unique.begin(count)) {
          const std::int64_t u =
              last_at_most(count, place * hot_row_piece, [&](std::int64_t i) { return unique.begin(i); });
          const std::int64_t begin = unique.begin(u);
          const std::int64_t end = unique.begin(u + 1);
          const bool hot = end - begin > hot_row_piece && (begin + hot_row_piece - 1) / hot_row_piece == place;
          if (hot && final) first_piece(place) = next;
          for (std::int64_t at = begin; hot && at < end; at += hot_row_piece, ++next)
            if (final) pieces(next) = {unique.key(u), at, Kokkos::min(at + hot_row_piece, end)};
        }
        if (final && place == places - 1) piece_count(0) = next;
      });
  return {pieces, first_piece, piece_count, workspace.partial_sums.first(2 * places * largest_dim), largest_dim};
}

SHARDMARK_INSTANCE(list_hot_rows<DefaultSpace>)

}  // namespace shardmark::kernels
