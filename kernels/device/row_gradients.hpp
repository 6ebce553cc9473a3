// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device/tiles.hpp"
#include "kernels/row_gradients.hpp"

namespace shardmark::kernels::device {

/// The gradient of one distinct row, its columns shared by the threads of a warp.
template <class Team, class Kernel>
struct RowColumns {
  const Team& team;
  const Kernel& kernel;
  std::int64_t begin, end;  ///< its positions, in sorted order
  std::int64_t dim;

  /// body(column, g(u)[column]), each column by one thread, column 0 by the first.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(const Body& body) const {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, dim),
                         [&](const std::int64_t c) { body(c, kernel.gradient(begin, end, c)); });
  }

  /// Sum over the columns of term(column, g(u)[column]) in double, for every thread.
  template <class Term>
  KOKKOS_FORCEINLINE_FUNCTION double sum(const Term& term) const {
    double total = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, dim),
        [&](const std::int64_t c, double& sum) { sum += static_cast<double>(term(c, kernel.gradient(begin, end, c))); },
        total);
    return total;
  }

  /// *value as the first thread reads it, for every thread: so that the first may write it afterwards.
  KOKKOS_FORCEINLINE_FUNCTION float read(const float* value) const {
    float copy = 0;
    Kokkos::single(
        Kokkos::PerThread(team), [&](float& one) { one = *value; }, copy);
    return copy;
  }
};

/// A warp per distinct row, a thread per column: all of a vector is read at once, and neighbours are read by
/// neighbours. consume(shard, u, row, columns): see RowColumns; `row` is local to the shard. Sums in the order of the
/// host's kernel.
template <class Exec, class Inputs, class Shard, class Consume>
struct RowGradientKernel {
  static constexpr int width = 32;
  struct SumPieces {};

  Inputs inputs;
  ShardList<Exec, Shard> list;
  ConstArray<Exec, RowPiece> pieces;
  ConstArray<Exec, std::int64_t> first_piece;  ///< by begin(u) / hot_row_piece, rounded up
  ConstArray<Exec, std::int64_t> piece_count;
  Array<Exec, float> partial_sums;  ///< [pieces, largest_dim]
  Consume consume;

  template <class Team>
  KOKKOS_FUNCTION void operator()(SumPieces, const Team& team) const {
    const std::int64_t number = tile_number(team);
    if (number >= piece_count(0)) return;
    const auto& piece = pieces(number);
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, list.shards(list.find(piece.key)).dim),
                         [&](const std::int64_t c) {
                           partial_sums(number * list.largest_dim + c) = sum_positions(piece.begin, piece.end, c);
                         });
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

  /// Column c of the gradient of the row with the sorted positions [begin, end).
  KOKKOS_FORCEINLINE_FUNCTION float gradient(std::int64_t begin, std::int64_t end, std::int64_t c) const {
    if (end - begin <= hot_row_piece) return sum_positions(begin, end, c);
    const std::int64_t first = first_piece((begin + hot_row_piece - 1) / hot_row_piece);
    const std::int64_t count = (end - begin + hot_row_piece - 1) / hot_row_piece;
    float sum = 0;
    for (std::int64_t i = first; i < first + count; ++i) sum += partial_sums(i * list.largest_dim + c);
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

/// kernels::for_each_row_gradient for threads that share rows. As many tiles are launched as there can be rows and
/// pieces, since only the device knows how many there are.
template <class Exec, class Unique, class GradientOffset, class Shard, class Consume>
void for_each_row_gradient(const std::string& label, const Exec& exec,
                           const RowGradients<Exec, Unique, GradientOffset>& inputs, const ShardList<Exec, Shard>& list,
                           RowGradientsWorkspace<Exec>& workspace, const Consume& consume) {
  using Kernel = RowGradientKernel<Exec, RowGradients<Exec, Unique, GradientOffset>, Shard, Consume>;
  const std::int64_t positions = inputs.unique.positions();
  if (positions == 0) return;
  const auto kernel = row_gradient_kernel<Kernel>(exec, inputs, list, workspace, consume);
  Kokkos::parallel_for(label + "_hot_rows",
                       tiles<typename Kernel::SumPieces>(exec, 2 * hot_row_places(positions), Kernel::width), kernel);
  Kokkos::parallel_for(label, tiles(exec, positions, Kernel::width), kernel);
}

}  // namespace shardmark::kernels::device
