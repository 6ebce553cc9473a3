// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/tensor_train/node_tile.hpp"

namespace shardmark::kernels {

/// Memory for what lies between cores and rows. It bounds how many blocks of a tree are worked on at a time, at least
/// one; results do not depend on it.
template <class Exec>
struct TensorTrainWorkspace {
  std::int64_t most_bytes = std::int64_t{256} << 20;  ///< of `vectors`
  Scratch<Exec, float> vectors{"shardmark::tensor_train_vectors"};
  Scratch<Exec, float> gradients{"shardmark::tensor_train_gradients"};
  Scratch<Exec, std::int64_t> gradient_keys{"shardmark::tensor_train_gradient_keys"};
  Scratch<Exec, std::int64_t> gradient_places{"shardmark::tensor_train_gradient_places"};
  Scratch<Exec, float> last_slices{"shardmark::tensor_train_last_slices"};
  Scratch<Exec, std::int64_t> run_of_row{"shardmark::tensor_train_run_of_row"};
  Array<Exec, std::uint32_t> locks;  ///< one for the slices whose places share a hash; 0 when free
  UniqueRowsWorkspace<Exec> slices, shared;
};

/// Floats that a node of each level keeps while its block is worked on.
using FloatsPerNode = std::array<std::int64_t, TensorTrainShape::most_cores>;

/// Blocks [begin, end) of a tree, worked on together.
struct BlockPass {
  std::int64_t begin = 0, end = 0;
};

/// Cuts the blocks of a tree into passes of as many as `floats` suffice for.
template <class Exec>
std::vector<BlockPass> block_passes(const PrefixTree<Exec>& tree, const FloatsPerNode& per_node, std::int64_t floats) {
  std::vector<BlockPass> passes;
  std::int64_t taken = 0;
  for (std::int64_t block = 0; block < tree.nodes.blocks; ++block) {
    std::int64_t wanted = 0;
    for (int level = 0; level < tree.nodes.levels; ++level)
      wanted += (tree.first_node(level, block + 1) - tree.first_node(level, block)) * per_node[level];
    if (passes.empty() || taken + wanted > floats) {
      passes.push_back({block, block});
      taken = 0;
    }
    passes.back().end = block + 1;
    taken += wanted;
  }
  return passes;
}

/// Floats of all vectors of a pass.
template <class Exec>
std::int64_t floats_of(const PrefixTree<Exec>& tree, const FloatsPerNode& per_node, const BlockPass& pass) {
  std::int64_t floats = 0;
  for (int level = 0; level < tree.nodes.levels; ++level)
    floats += (tree.first_node(level, pass.end) - tree.first_node(level, pass.begin)) * per_node[level];
  return floats;
}

/// Places for the vectors of a pass, from `next` on, which moves behind them.
template <class Exec>
LevelVectors lay_out(const PrefixTree<Exec>& tree, const FloatsPerNode& per_node, const BlockPass& pass, float*& next) {
  LevelVectors vectors;
  for (int level = 0; level < tree.nodes.levels; ++level) {
    const std::int64_t first = tree.first_node(level, pass.begin);
    vectors[level] = {next, first, per_node[level]};
    next += (tree.first_node(level, pass.end) - first) * per_node[level];
  }
  return vectors;
}

/// Floats of the products that are kept: of all levels but those of rows, of their parents and of core 0.
template <class Exec>
FloatsPerNode kept_products(const TensorTrains<Exec>& trains) {
  FloatsPerNode floats{};
  for (int level = 2; level + 1 < trains.levels; ++level) floats[level] = trains.largest[level].product;
  return floats;
}

/// products[level] of the nodes in these blocks, for the levels that kept_products keeps.
template <class Exec>
void node_products(const Exec& exec, const PrefixTree<Exec>& tree, const TensorTrains<Exec>& trains,
                   const BlockPass& pass, const LevelVectors& products);

}  // namespace shardmark::kernels
