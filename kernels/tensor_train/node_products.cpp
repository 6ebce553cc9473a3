// SPDX-License-Identifier: Apache-2.0
#include "kernels/tensor_train/node_products.hpp"

#include "kernels/instantiate.hpp"

namespace shardmark::kernels {

template <class Exec>
struct NodeProducts {
  PrefixNodes<Exec> tree;
  TensorTrains<Exec> trains;
  LevelVectors products;
  int level;
  std::int64_t first_run;
  int scratch_level;
  std::int64_t floats;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const NodeTile<Exec, Team> tile(team, tree, trains, tree.runs(first_run + team.league_rank()), level);
    if (tile.t == 0) return;  // the slice is the product
    ScratchFloats scratch = scratch_floats(team, scratch_level, floats);
    float* left = scratch.take(trains.largest[level].tile_left);
    float* product = scratch.take(trains.largest[level].tile_product);
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
void node_products(const Exec& exec, const PrefixTree<Exec>& tree, const TensorTrains<Exec>& trains,
                   const BlockPass& pass, const LevelVectors& products) {
  for (int level = trains.levels - 2; level > 1; --level) {
    const std::int64_t first = tree.first_run(level, pass.begin), runs = tree.first_run(level, pass.end) - first;
    const auto& largest = trains.largest[level];
    const std::int64_t floats = ScratchFloats::padded(largest.tile_left) + ScratchFloats::padded(largest.tile_product) +
                                (trains.converts ? largest.slice : 0);
    const auto [policy, scratch_level] = team_per_run(exec, runs, floats);
    Kokkos::parallel_for("shardmark::node_products", policy,
                         NodeProducts<Exec>{tree.nodes, trains, products, level, first, scratch_level, floats});
  }
}

#define NODE_PRODUCTS_ON(Exec) SHARDMARK_INSTANCE(node_products<Exec>)
SHARDMARK_ON_EACH_SPACE(NODE_PRODUCTS_ON)

}  // namespace shardmark::kernels
