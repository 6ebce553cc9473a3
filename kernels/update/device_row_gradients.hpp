// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device_tiles.hpp"
#include "kernels/sort/hot_row_shards.hpp"

namespace shardmark::kernels::device {

/// Gives the gradient of one distinct row, whose columns the threads of a warp share.
template <class Team, class Kernel>
struct RowColumns {
  const Team& team;
  const Kernel& kernel;
  std::int64_t begin, end;  ///< its positions, in sorted order
  std::int64_t dim;

  /// Calls body(column, g(u)[column]) for each column, by one thread each; the first thread takes column 0.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(const Body& body) const {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, dim),
                         [&](const std::int64_t c) { body(c, kernel.gradient(begin, end, c)); });
  }

  /// Returns to every thread the sum over the columns of term(column, g(u)[column]), in double.
  template <class Term>
  KOKKOS_FORCEINLINE_FUNCTION double sum(const Term& term) const {
    double total = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, dim),
        [&](const std::int64_t c, double& sum) { sum += static_cast<double>(term(c, kernel.gradient(begin, end, c))); },
        total);
    return total;
  }

  /// Returns *value to every thread as the first thread reads it, so that the first may write it afterwards.
  KOKKOS_FORCEINLINE_FUNCTION float read(const float* value) const {
    float copy = 0;
    Kokkos::single(
        Kokkos::PerThread(team), [&](float& one) { one = *value; }, copy);
    return copy;
  }
};

/// Computes the gradients of rows with a warp per distinct row and a thread per column: all of a vector is read at
/// once, and neighbours are read by neighbours. Sums in the order of the host's kernel; `row` of consume is local to
/// the shard.
template <class Exec, class Shard, class Consume>
struct RowGradientKernel {
  static constexpr int width = 32;
  struct SumPieces {};

  RowGradients<Exec> inputs;
  ShardList<Exec, Shard> list;
  HotRows<Exec> hot;
  Consume consume;

  template <class Team>
  KOKKOS_FUNCTION void operator()(SumPieces, const Team& team) const {
    const std::int64_t number = tile_number(team);
    if (number >= hot.piece_count(0)) return;
    const auto& piece = hot.pieces(number);
    Kokkos::parallel_for(
        Kokkos::ThreadVectorRange(team, list.shards(list.find(piece.key)).dim),
        [&](const std::int64_t c) { hot.partial_sum(number)[c] = sum_positions(piece.begin, piece.end, c); });
  }

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const auto& unique = inputs.unique;
    const std::int64_t u = tile_number(team);
    if (u >= unique.count()) return;
    const std::int64_t key = unique.key(u);
    const Shard& shard = list.shards(list.find(key));
    consume(shard, u, key - shard.first_key,
            RowColumns<Team, RowGradientKernel>{team, *this, unique.begin(u), unique.begin(u + 1), shard.dim});
  }

  /// Returns column c of the gradient of the row with the sorted positions [begin, end).
  KOKKOS_FORCEINLINE_FUNCTION float gradient(std::int64_t begin, std::int64_t end, std::int64_t c) const {
    if (end - begin <= hot_row_piece) return sum_positions(begin, end, c);
    const auto pieces = hot.of(begin, end);
    float sum = 0;
    for (std::int64_t i = pieces.first; i < pieces.stop; ++i) sum += hot.partial_sum(i)[c];
    return sum;
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION float sum_positions(std::int64_t begin, std::int64_t end, std::int64_t c) const {
    const bool weighted = inputs.weights.extent(0) > 0;
    float sum = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const float g = inputs.gradients(inputs.vector_begin(i) + c);
      sum += weighted ? inputs.weights(inputs.unique.position(i)) * g : g;
    }
    return sum;
  }
};

}  // namespace shardmark::kernels::device
