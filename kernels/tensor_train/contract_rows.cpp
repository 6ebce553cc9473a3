// SPDX-License-Identifier: Apache-2.0
#include "kernels/tensor_train/contract_rows.hpp"

#include "kernels/instantiate.hpp"

namespace shardmark::kernels {

template <class Exec>
struct NodeProducts {
  PrefixNodes<Exec> tree;
  TensorTrains<Exec> tts;
  LevelVectors products;
  int level;
  std::int64_t first_run;
  int scratch_level;
  std::int64_t floats;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const NodeTile<Exec, Team> tile(team, tree, tts, tree.runs(first_run + team.league_rank()), level);
    if (tile.t == 0) return;  // the slice is the product
    ScratchFloats scratch = scratch_floats(team, scratch_level, floats);
    float* left = scratch.take(tts.largest[level].tile_left);
    float* product = scratch.take(tts.largest[level].tile_product);
    const float* slice = tile.slice_of(tile.t, tile.run.slice, scratch.next);
    tile.for_each_tile([&](std::int64_t begin, std::int64_t count, bool) {
      tile.pack_left(begin, count, products[level + 1], left);
      tile.multiply(count, left, slice, product);
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](const std::int64_t i) {
        copy_by_thread(team, product + i * tile.step.product(), products[level].of(tile.number(begin + i)),
                       tile.step.product());
      });
      team.team_barrier();
    });
  }
};

template <class Exec>
void node_products(const Exec& exec, const PrefixTree<Exec>& tree, const TensorTrains<Exec>& tts, const BlockPass& pass,
                   const LevelVectors& products) {
  for (int level = tts.levels - 2; level > 1; --level) {
    const std::int64_t first = tree.first_run(level, pass.begin), runs = tree.first_run(level, pass.end) - first;
    const auto& largest = tts.largest[level];
    const std::int64_t floats = ScratchFloats::padded(largest.tile_left) + ScratchFloats::padded(largest.tile_product) +
                                (tts.converts ? largest.slice : 0);
    const auto [policy, scratch_level] = team_per_run(exec, runs, floats);
    Kokkos::parallel_for("shardmark::node_products", policy,
                         NodeProducts<Exec>{tree.nodes, tts, products, level, first, scratch_level, floats});
  }
}

SHARDMARK_INSTANCE(node_products<DefaultSpace>)

/// Computes for each parent of rows its product, and then each of its rows.
template <class Exec>
struct ContractRows {
  static constexpr int level = 1;

  PrefixNodes<Exec> tree;
  TensorTrains<Exec> tts;
  LevelVectors products;
  Array<Exec, float> rows;
  std::int64_t stride;
  std::int64_t first_run;
  int scratch_level;
  std::int64_t floats;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const NodeTile<Exec, Team> tile(team, tree, tts, tree.runs(first_run + team.league_rank()), level);
    ScratchFloats scratch = scratch_floats(team, scratch_level, floats);
    float* left = scratch.take(tts.largest[level].tile_left);
    float* product = scratch.take(tts.largest[level].tile_product);
    float* slice_space = scratch.take(tts.converts ? tts.largest[level].slice : 0);
    const float* slice = tile.slice_of(tile.t, tile.run.slice, slice_space);
    tile.for_each_tile([&](std::int64_t begin, std::int64_t count, bool) {
      tile.pack_left(begin, count, products[level + 1], left);
      ask_for_rows(tile, begin, count);
      tile.multiply(count, left, slice, product);
      for (std::int64_t i = 0; i < count; ++i) {
        const PrefixNode& node = tile.node(begin + i);
        for (std::int64_t u = node.begin; u < node.end; ++u)
          contract(tile, u, product + i * tile.step.product(), scratch);
      }
      team.team_barrier();
    });
  }

 private:
  /// Prefetches the places of the rows of the nodes, which are to be written, and their slices of the last core: while
  /// the nodes are multiplied.
  template <class Tile>
  KOKKOS_FORCEINLINE_FUNCTION void ask_for_rows(const Tile& tile, std::int64_t begin, std::int64_t count) const {
    for (std::int64_t i = 0; i < count; ++i) {
      const PrefixNode& node = tile.node(begin + i);
      for (std::int64_t u = node.begin; u < Kokkos::min(node.end, node.begin + 4); ++u)
        prefetch_to_write(rows.data() + u * stride, tile.cores.dim);
    }
  }

  /// Computes row u = product [columns of the other cores, r] times its slice [r, q] of the last core.
  template <class Tile>
  KOKKOS_FORCEINLINE_FUNCTION void contract(const Tile& tile, std::int64_t u, const float* product,
                                            ScratchFloats scratch) const {
    const auto& cores = tile.cores;
    const CoreStep last = cores.step(tile.t + 1);
    const std::int64_t digit = (tree.rows.key(u) - cores.first_key) % cores.shape.p[tile.t + 1];
    float* out = rows.data() + u * stride;
    float* natural = cores.mirrored ? scratch.take(tts.tables.largest_dim) : out;
    const float* slice = tile.slice_of(tile.t + 1, digit, scratch.next);
    small_gemm(tile.team, {last.before, last.q, last.r_in}, GemmLeft<float>{product, last.r_in, 1},
               GemmRows<const float>{slice, last.q}, GemmRows<float>{natural, last.q}, GemmStart::zero);
    if (cores.value_type != ValueType::fp32 || cores.mirrored) tile.team.team_barrier();
    if (!cores.mirrored) return;
    const std::int32_t* columns = tts.columns_of(tile.run.table);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(tile.team, cores.dim),
                         [&](const std::int64_t c) { out[columns[c]] = natural[c]; });
    tile.team.team_barrier();
  }
};

template <class Exec>
void contract_rows(const Exec& exec, const PrefixTree<Exec>& tree, const TensorTrains<Exec>& tts,
                   TensorTrainWorkspace<Exec>& workspace, Array<Exec, float> rows, std::int64_t stride) {
  const FloatsPerNode per_node = kept_products(tts);
  const auto& largest = tts.largest[1];
  const std::int64_t floats = ScratchFloats::padded(largest.tile_left) + ScratchFloats::padded(largest.tile_product) +
                              ScratchFloats::padded(tts.tables.largest_dim) +
                              (tts.converts ? ScratchFloats::padded(largest.slice) + tts.largest[0].slice : 0);
  for (const BlockPass& pass :
       block_passes(tree, per_node, false, workspace.most_bytes / std::int64_t{sizeof(float)})) {
    float* next = workspace.vectors.first(floats_of(tree, per_node, pass)).data();
    const LevelVectors products = lay_out(tree, per_node, pass, next);
    node_products(exec, tree, tts, pass, products);
    const std::int64_t first = tree.first_run(1, pass.begin);
    const auto [policy, scratch_level] = team_per_run(exec, tree.first_run(1, pass.end) - first, floats);
    Kokkos::parallel_for("shardmark::contract_rows", policy,
                         ContractRows<Exec>{tree.nodes, tts, products, rows, stride, first, scratch_level, floats});
  }
}

SHARDMARK_INSTANCE(contract_rows<DefaultSpace>)

}  // namespace shardmark::kernels
