// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/tensor_train/cores.hpp"

namespace shardmark::kernels {

/// This is the number of rows whose intermediate products are computed and whose gradients are summed together. Blocks
/// share nothing, so the number of blocks in work at a time, which depends on the memory, changes no result.
inline constexpr std::int64_t tree_block = 16'384;

/// Returns the largest number of consecutive rows below one node. What more rows share is computed once for each so
/// many of them, so that one prefix that all rows share is not left to one thread. Divides tree_block.
constexpr std::int64_t longest_node(int level) { return level == 1 ? 128 : 1024; }

/// A node is a product of the first cores that rows share: at level l, of the digits i_0 .. i_t with t = cores - 1 - l.
/// The numbers of nodes go through the rows (level 0), then the nodes of level 1, and so on, each level in the order of
/// the rows.
struct PrefixNode {
  std::int64_t begin = 0, end = 0;  ///< numbers of its children, one level below
  std::int64_t parent = -1;         ///< its number, one level above; -1 at core 0
  std::int64_t slice = 0;           ///< digit i_t
  std::int64_t table = 0;
};

/// Lists the nodes of a block (of one level) with the same slice, in their order: one team works on them.
struct SliceRun {
  std::int64_t begin = 0, end = 0;  ///< places in `groups`
  std::int64_t slice = 0;           ///< its number within its core
  std::int64_t table = 0;
  int core = 0;
  std::int64_t key = 0;       ///< of the slice
  std::int64_t gradient = 0;  ///< place of the gradient that it gives
};

/// Holds the nodes of a tree, for kernels.
template <class Exec>
struct PrefixNodes {
  UniqueRows<Exec> rows;
  Array<Exec, PrefixNode> nodes;  ///< from level 1 on
  UniqueRows<Exec> groups;        ///< numbers of nodes, by level, block and slice
  Array<Exec, SliceRun> runs;     ///< in the order of the groups
  std::int64_t blocks = 0;
  int levels = 0;
  std::array<std::int64_t, TensorTrainShape::most_cores + 1> first{};  ///< of each level; the last: how many there are

  KOKKOS_INLINE_FUNCTION std::int64_t row_count() const { return first[1]; }
  KOKKOS_INLINE_FUNCTION PrefixNode& at(std::int64_t number) const { return nodes(number - row_count()); }
};

/// Holds the distinct rows of a step as a tree of shared prefixes.
template <class Exec>
struct PrefixTree {
  PrefixNodes<Exec> nodes;
  /// These say, [levels * blocks + 1], where each block of each level begins; elements: of the gradients of runs.
  std::vector<std::int64_t> block_nodes, block_runs, block_elements;

  std::int64_t rows() const { return nodes.row_count(); }
  std::int64_t first_node(int level, std::int64_t block) const { return block_nodes[level * nodes.blocks + block]; }
  std::int64_t runs() const { return block_runs.back(); }
  std::int64_t gradient_elements() const { return block_elements.back(); }
  std::int64_t first_element(int level, std::int64_t block) const {
    return block_elements[level * nodes.blocks + block];
  }
  std::int64_t first_run(int level, std::int64_t block) const { return block_runs[level * nodes.blocks + block]; }
};

/// Says in which table a distinct row is, and how many levels, from its own on, have a node that begins with it: nodes
/// of a level begin wherever those of the level above do.
struct RowStart {
  std::int32_t table, levels;
};

template <class Exec>
struct PrefixTreeWorkspace {
  Scratch<Exec, RowStart> starts{"shardmark::prefix_starts"};
  Scratch<Exec, PrefixNode> nodes{"shardmark::prefix_nodes"};
  Scratch<Exec, std::int64_t> keys{"shardmark::prefix_keys"};
  Scratch<Exec, SliceRun> runs{"shardmark::slice_runs"};
  Scratch<Exec, std::int64_t> tail{"shardmark::slice_runs_tail"};
  Scratch<Exec, std::int64_t> bounds{"shardmark::prefix_bounds"};
  UniqueRowsWorkspace<Exec> groups;
};

/// Returns the tree of distinct rows, whose keys are first_key + row of their table in `tts`. Neighbours in the
/// order of the rows share the longest prefixes, so the nodes of every level are runs of rows, found by comparing
/// neighbours (EcoRec does so for one level). The tree lives in `workspace` until the next call with it. The host waits
/// twice for the device, since the launches and the memory that they need depend on the numbers of nodes and runs.
template <class Exec>
PrefixTree<Exec> prefix_tree(const Exec& exec, const UniqueRows<Exec>& rows, const TensorTrains<Exec>& tts,
                             PrefixTreeWorkspace<Exec>& workspace);

/// Returns the number of distinct prefixes i_0 .. i_t of each table: result[table][t], the last of them its distinct
/// rows. (A node of many rows counts as many times as it is computed.) Waits for the device.
template <class Exec>
std::vector<std::array<std::int64_t, TensorTrainShape::most_cores>> count_prefixes(const Exec& exec,
                                                                                   const PrefixTree<Exec>& tree,
                                                                                   const TensorTrains<Exec>& tts);

}  // namespace shardmark::kernels
