// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/tensor_train/node_tile.hpp"

namespace shardmark::kernels {

/// Holds the memory for intermediate results between cores and rows. It bounds how many blocks of a tree are in work at
/// a time, at least one; results do not depend on it.
template <class Exec>
struct TensorTrainWorkspace {
  std::int64_t most_bytes = std::int64_t{256} << 20;  ///< of `vectors`, or what one block needs
  Scratch<Exec, float> vectors{"shardmark::tensor_train_vectors"};
  Scratch<Exec, float> gradients{"shardmark::tensor_train_gradients"};
  Scratch<Exec, std::int64_t> gradient_keys{"shardmark::tensor_train_gradient_keys"};
  Scratch<Exec, std::int64_t> gradient_places{"shardmark::tensor_train_gradient_places"};
  Scratch<Exec, std::int64_t> sum_places{"shardmark::tensor_train_sum_places"};
  Scratch<Exec, float> last_slices{"shardmark::tensor_train_last_slices"};
  Scratch<Exec, std::int64_t> run_of_row{"shardmark::tensor_train_run_of_row"};
  Array<Exec, std::uint32_t> locks;  ///< one for the slices whose places share a hash; 0 when free
  UniqueRowsWorkspace<Exec> slices, sums;
};

/// Counts the floats that a node of each level keeps while its block is in work.
using FloatsPerNode = std::array<std::int64_t, TensorTrainShape::most_cores>;

/// Names the blocks [begin, end) of a tree, which are worked on together.
struct BlockPass {
  std::int64_t begin = 0, end = 0;
};

/// Returns the number of elements of the gradients of the runs of a pass.
template <class Exec>
std::int64_t run_elements(const PrefixTree<Exec>& tree, const BlockPass& pass) {
  std::int64_t elements = 0;
  for (int level = 0; level < tree.nodes.levels; ++level)
    elements += tree.first_element(level, pass.end) - tree.first_element(level, pass.begin);
  return elements;
}

/// Returns the number of floats of all vectors of a pass.
template <class Exec>
std::int64_t floats_of(const PrefixTree<Exec>& tree, const FloatsPerNode& per_node, const BlockPass& pass) {
  std::int64_t floats = 0;
  for (int level = 0; level < tree.nodes.levels; ++level)
    floats += (tree.first_node(level, pass.end) - tree.first_node(level, pass.begin)) * per_node[level];
  return floats;
}

/// Cuts the blocks of a tree into passes of as many blocks as `floats` suffice for. with_runs: the gradients of runs
/// are among what a pass keeps.
template <class Exec>
std::vector<BlockPass> block_passes(const PrefixTree<Exec>& tree, const FloatsPerNode& per_node, bool with_runs,
                                    std::int64_t floats) {
  std::vector<BlockPass> passes;
  std::int64_t taken = 0;
  for (std::int64_t block = 0; block < tree.nodes.blocks; ++block) {
    const BlockPass alone{block, block + 1};
    const std::int64_t wanted = floats_of(tree, per_node, alone) + (with_runs ? run_elements(tree, alone) : 0);
    if (passes.empty() || taken + wanted > floats) {
      passes.push_back({block, block});
      taken = 0;
    }
    passes.back().end = block + 1;
    taken += wanted;
  }
  return passes;
}

/// Assigns places to the vectors of a pass, from `next` on, which moves behind them.
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

/// Returns the number of floats of the products that are kept: those of all levels but rows, their parents and core 0.
template <class Exec>
FloatsPerNode kept_products(const TensorTrains<Exec>& tts) {
  FloatsPerNode floats{};
  for (int level = 2; level + 1 < tts.levels; ++level) floats[level] = tts.largest[level].product;
  return floats;
}

/// Computes products[level] of the nodes in these blocks, for the levels that kept_products keeps.
template <class Exec>
void node_products(const Exec& exec, const PrefixTree<Exec>& tree, const TensorTrains<Exec>& tts, const BlockPass& pass,
                   const LevelVectors& products);

/// Sets rows(u * stride + c) to column c of distinct row u, for all rows of the tree. Entry (i, j) of a table is the
/// product of matrices G_0[i_0][:, j_0, :] G_1[i_1][:, j_1, :] .., from the left, each element of each product one
/// chain of fused multiply-adds in fp32 over the rank. What rows share is computed once. stride: at least the largest
/// dim.
template <class Exec>
void contract_rows(const Exec& exec, const PrefixTree<Exec>& tree, const TensorTrains<Exec>& tts,
                   TensorTrainWorkspace<Exec>& workspace, Array<Exec, float> rows, std::int64_t stride);

}  // namespace shardmark::kernels
