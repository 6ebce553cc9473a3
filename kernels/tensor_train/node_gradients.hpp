// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "kernels/tensor_train/contract_rows.hpp"

namespace shardmark::kernels {

inline constexpr int slice_lock_bits = 12;

/// Holds the gradients of slices: every run of nodes has a place of its own, or one place takes those of all runs,
/// which are added as they are computed.
template <class Exec>
struct SlicePlaces {
  using Shift = std::array<std::int64_t, TensorTrainShape::most_cores>;

  Array<Exec, float> gradients;
  ConstArray<Exec, std::int64_t> of_run;
  Shift shift{};                     ///< of the places of the runs of each level
  Array<Exec, std::uint32_t> locks;  ///< empty if ordered

  KOKKOS_FORCEINLINE_FUNCTION bool unordered() const { return locks.extent(0) > 0; }
  KOKKOS_FORCEINLINE_FUNCTION float* of(std::int64_t run, int level) const {
    return gradients.data() + of_run(run) + shift[level];
  }

  /// Adds value(i) to gradients(place + i) for i < count: by one thread at a time on a host, each atomically on a
  /// device.
  template <class Team, class Value>
  KOKKOS_FORCEINLINE_FUNCTION void add(const Team& team, std::int64_t place, std::int64_t count,
                                       const Value& value) const {
    float* to = gradients.data() + place;
    KOKKOS_IF_ON_HOST(({
      const std::atomic_ref lock(
          locks(static_cast<std::uint64_t>(place) * 0x9e3779b97f4a7c15ULL >> (64 - slice_lock_bits)));
      while (lock.exchange(1, std::memory_order_acquire) != 0) {
      }
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count), [&](const std::int64_t i) { to[i] += value(i); });
      lock.store(0, std::memory_order_release);
    }))
    KOKKOS_IF_ON_DEVICE((Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count),
                                              [&](const std::int64_t i) { Kokkos::atomic_add(to + i, value(i)); });))
  }
};

/// Holds the slices of the last core that rows use, transposed to [q, r] in fp32.
template <class Exec>
struct LastSlices {
  Array<Exec, float> values;
  Array<Exec, std::int64_t> run_of_row;  ///< [rows] run (of level 0) that a row is in
  std::int64_t stride = 0;               ///< of the slices of one run after another

  KOKKOS_FORCEINLINE_FUNCTION float* of_run(std::int64_t run) const { return values.data() + run * stride; }
};

/// Writes `from` [rows, columns] transposed to `to` [columns, rows].
template <class Team>
KOKKOS_FORCEINLINE_FUNCTION void transpose(const Team& team, const float* from, std::int64_t rows, std::int64_t columns,
                                           float* to) {
  Kokkos::parallel_for(Kokkos::TeamThreadRange(team, rows), [&](const std::int64_t r) {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, columns),
                         [&](const std::int64_t c) { to[c * rows + r] = from[r * columns + c]; });
  });
  team.team_barrier();
}

/// Packs the slices of the last core, and records the run of each row.
template <class Exec>
struct PackLastSlices {
  PrefixNodes<Exec> tree;
  TensorTrains<Exec> tts;
  LastSlices<Exec> last;
  int scratch_level;
  std::int64_t floats;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t number = team.league_rank();
    const NodeTile<Exec, Team> tile(team, tree, tts, tree.runs(number), 0);
    const float* slice = tile.slice_of(tile.t, tile.run.slice, scratch_floats(team, scratch_level, floats).next);
    transpose(team, slice, tile.step.r_in, tile.step.q, last.of_run(number));
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, tile.run.end - tile.run.begin),
                         [&](const std::int64_t i) { last.run_of_row(tile.number(tile.run.begin + i)) = number; });
  }
};

/// Computes what the nodes of a level give to their slices and to their parents. Level 1 takes the gradients of rows
/// and gives the last core its share; the levels above take what their children gave.
template <class Exec>
struct NodeGradients {
  PrefixNodes<Exec> tree;
  TensorTrains<Exec> tts;
  ConstArray<Exec, float> row_gradients;
  LevelVectors products;
  LevelVectors shares;  ///< from level 1 on, [before, r_in] of the parent's dX; of level 0, [q, r] of the last slice
  SlicePlaces<Exec> places;
  LastSlices<Exec> last_slices;
  int level;
  std::int64_t first_run;
  int scratch_level;
  std::int64_t floats;

  /// Points to the scratch arrays of a team.
  struct Arrays {
    float *left, *product, *gradient, *transposed, *slice, *sum;
    ScratchFloats rest;
  };
  static std::int64_t scratch_size(const TensorTrains<Exec>& tts, int level, bool unordered) {
    const auto padded = [](std::int64_t count) { return ScratchFloats::padded(count); };
    const auto& largest = tts.largest[level];
    return padded(largest.tile_left) + 2 * padded(largest.tile_product) +
           (1 + tts.converts + unordered) * padded(largest.slice) + 2 * padded(tts.largest[0].slice) +
           padded(tts.tables.largest_dim);
  }

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t run = first_run + team.league_rank();
    const NodeTile<Exec, Team> tile(team, tree, tts, tree.runs(run), level);
    const CoreStep& step = tile.step;
    const Arrays at = arrays(team);
    const float* slice = tile.slice_of(tile.t, tile.run.slice, at.slice);
    if (tile.t > 0) transpose(team, slice, step.r_in, step.columns(), at.transposed);
    float* sum = places.unordered() ? at.sum : places.of(run, level);
    tile.for_each_tile([&](std::int64_t begin, std::int64_t count, bool first) {
      tile.pack_left(begin, count, products[level + 1 < tts.levels ? level + 1 : level], at.left);
      if (level == 1) {
        ask_for_rows(tile, begin, count);
        tile.multiply(count, at.left, slice, at.product);
      }
      for (std::int64_t i = 0; i < count; ++i) {
        const PrefixNode& node = tile.node(begin + i);
        float* gradient = at.gradient + i * step.product();
        if (level == 1)
          take_rows(tile, node, at.product + i * step.product(), gradient, at.rest);
        else
          take_children(team, node, step.product(), gradient);
      }
      team.team_barrier();
      small_gemm(team, {step.r_in, step.columns(), count * step.before}, GemmLeft<float>{at.left, 1, step.r_in},
                 GemmRows<const float>{at.gradient, step.columns()}, GemmRows<float>{sum, step.columns()},
                 first ? GemmStart::zero : GemmStart::c);
      team.team_barrier();
      if (tile.t > 0) give_parents(tile, begin, count, at);
    });
    if (places.unordered()) places.add(team, places.of_run(run), step.slice(), [&](std::int64_t i) { return sum[i]; });
  }

 private:
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION Arrays arrays(const Team& team) const {
    ScratchFloats scratch = scratch_floats(team, scratch_level, floats);
    const auto& largest = tts.largest[level];
    Arrays at{};
    at.left = scratch.take(largest.tile_left);
    at.product = scratch.take(largest.tile_product);
    at.gradient = scratch.take(largest.tile_product);
    at.transposed = scratch.take(largest.slice);
    if (tts.converts) at.slice = scratch.take(largest.slice);
    if (places.unordered()) at.sum = scratch.take(largest.slice);
    at.rest = scratch;
    return at;
  }

  /// Prefetches the gradients of the first rows of each node, which lie wherever they came in, and the places of what
  /// the rows give to the last core: they arrive while products are computed.
  template <class Tile>
  KOKKOS_FORCEINLINE_FUNCTION void ask_for_rows(const Tile& tile, std::int64_t begin, std::int64_t count) const {
    constexpr std::int64_t most = 4;
    const CoreStep last = tile.cores.step(tile.t + 1);
    KOKKOS_IF_ON_HOST((for (std::int64_t i = 0; i < count; ++i) {
      const PrefixNode& node = tile.node(begin + i);
      for (std::int64_t u = node.begin; u < Kokkos::min(node.end, node.begin + most); ++u) {
        prefetch_near(row_gradients.data() + tree.rows.position(tree.rows.begin(u)),
                      tile.cores.dim * std::int64_t{sizeof(float)});
        if (!places.unordered()) prefetch_to_write(shares[0].of(u), last.slice());
      }
    }))
  }

  /// Sets `gradient` to the sum over the node's rows of dR [before, q] L^T [q, r], the last core's slices being L, and
  /// gives each of these product^T dR.
  template <class Tile>
  KOKKOS_FORCEINLINE_FUNCTION void take_rows(const Tile& tile, const PrefixNode& node, const float* product,
                                             float* gradient, ScratchFloats scratch) const {
    const auto& cores = tile.cores;
    const auto& team = tile.team;
    const CoreStep last = cores.step(tile.t + 1);
    float* share = scratch.take(last.slice());
    float* transposed = scratch.take(last.slice());
    float* vector = scratch.take(cores.dim);
    for (std::int64_t u = node.begin; u < node.end; ++u) {
      const std::int64_t run = last_slices.run_of_row(u);
      const float* row = row_gradient(tile, u, vector);
      small_gemm(team, {last.before, last.r_in, last.q}, GemmLeft<float>{row, last.q, 1},
                 GemmRows<const float>{last_slices.of_run(run), last.r_in}, GemmRows<float>{gradient, last.r_in},
                 u == node.begin ? GemmStart::zero : GemmStart::c);
      small_gemm(team, {last.q, last.r_in, last.before}, GemmLeft<float>{row, 1, last.q},
                 GemmRows<const float>{product, last.r_in},
                 GemmRows<float>{places.unordered() ? share : shares[0].of(u), last.r_in}, GemmStart::zero);
      if (!places.unordered() && !cores.mirrored) continue;
      team.team_barrier();
      if (places.unordered()) {
        transpose(team, share, last.q, last.r_in, transposed);
        places.add(team, places.of_run(run), last.slice(), [&](std::int64_t i) { return transposed[i]; });
      }
      team.team_barrier();
    }
  }

  /// Returns the gradient of row u, its columns in the order of the cores.
  template <class Tile>
  KOKKOS_FORCEINLINE_FUNCTION const float* row_gradient(const Tile& tile, std::int64_t u, float* space) const {
    const float* outside = row_gradients.data() + tree.rows.position(tree.rows.begin(u));
    if (!tile.cores.mirrored) return outside;
    const std::int32_t* columns = tts.columns_of(tile.run.table);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(tile.team, tile.cores.dim),
                         [&](const std::int64_t c) { space[c] = outside[columns[c]]; });
    tile.team.team_barrier();
    return space;
  }

  /// Sets `gradient` to the sum over the node's children of what they gave, in order.
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void take_children(const Team& team, const PrefixNode& node, std::int64_t size,
                                                 float* gradient) const {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, size), [&](const std::int64_t i) { gradient[i] = 0.0F; });
    for (std::int64_t child = node.begin; child < node.end; ++child) {
      const float* share = shares[level - 1].of(child);
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, size), [&](const std::int64_t i) { gradient[i] += share[i]; });
    }
  }

  /// Sets the share of each node's parent to the node's gradient times its slice transposed.
  template <class Tile>
  KOKKOS_FORCEINLINE_FUNCTION void give_parents(const Tile& tile, std::int64_t begin, std::int64_t count,
                                                const Arrays& at) const {
    const CoreStep& step = tile.step;
    small_gemm(tile.team, {count * step.before, step.r_in, step.columns()},
               GemmLeft<float>{at.gradient, step.columns(), 1}, GemmRows<const float>{at.transposed, step.r_in},
               GemmRows<float>{at.left, step.r_in}, GemmStart::zero);
    tile.team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(tile.team, count), [&](const std::int64_t i) {
      copy_by_thread(tile.team, at.left + i * step.left(), shares[level].of(tile.number(begin + i)), step.left());
    });
    tile.team.team_barrier();
  }
};

/// Sums what rows gave to slices of the last core, in order.
template <class Exec>
struct LastCoreGradients {
  static constexpr std::int64_t ahead = 8;

  PrefixNodes<Exec> tree;
  TensorTrains<Exec> tts;
  NodeVectors shares;
  SlicePlaces<Exec> places;
  std::int64_t first_run;
  int scratch_level;
  std::int64_t floats;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t number = first_run + team.league_rank();
    const NodeTile<Exec, Team> tile(team, tree, tts, tree.runs(number), 0);
    const std::int64_t size = tile.step.slice(), q = tile.step.q, r = tile.step.r_in;
    float* sum = scratch_floats(team, scratch_level, floats).next;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, size), [&](const std::int64_t i) { sum[i] = 0.0F; });
    for (std::int64_t place = tile.run.begin; place < tile.run.end; ++place) {
      const float* share = shares.of(tile.number(place));
      prefetch(shares.of(tile.number(Kokkos::min(place + ahead, tile.run.end - 1))),
               size * std::int64_t{sizeof(float)});
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, size), [&](const std::int64_t i) { sum[i] += share[i]; });
    }
    team.team_barrier();
    transpose(team, sum, q, r, places.of(number, 0));
  }
};

}  // namespace shardmark::kernels
