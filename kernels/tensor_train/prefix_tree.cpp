// SPDX-License-Identifier: Apache-2.0
#include "kernels/tensor_train/prefix_tree.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/lanes.hpp"

namespace shardmark::kernels {

/// How many nodes there are at each level, or before some row.
struct NodesByLevel {
  std::int64_t at[TensorTrainShape::most_cores] = {};

  KOKKOS_FUNCTION NodesByLevel& operator+=(const NodesByLevel& other) {
    for (int level = 0; level < TensorTrainShape::most_cores; ++level) at[level] += other.at[level];
    return *this;
  }
};

}  // namespace shardmark::kernels

template <>
struct Kokkos::reduction_identity<shardmark::kernels::NodesByLevel> {
  KOKKOS_FUNCTION static shardmark::kernels::NodesByLevel sum() { return {}; }
};

namespace shardmark::kernels {

/// Runs of more nodes than this are cut: on a device, whose teams are many and share the work within a run, finely.
template <class Exec>
constexpr std::int64_t longest_run(int level) {
  if (level == 0) return 1024;
  return on_device<Exec> ? 8 : 64;
}

/// A distinct row, its table and its digits.
template <class Exec>
struct PlacedRow {
  std::int64_t table = -1, row = 0;

  KOKKOS_FUNCTION PlacedRow(const UniqueRows<Exec>& rows, const TensorTrains<Exec>& trains, std::int64_t u) {
    if (u < 0) return;
    table = trains.tables.find(rows.key(u));
    row = rows.key(u) - trains.tables.shards(table).first_key;
  }
};

/// Finds the nodes that begin with a row.
template <class Exec>
struct NodeFinder {
  UniqueRows<Exec> rows;
  TensorTrains<Exec> trains;

  /// Whether row u and the one before it share no node of `level`, which the table of `row` has.
  KOKKOS_FUNCTION bool begins(const PlacedRow<Exec>& before, const PlacedRow<Exec>& row, std::int64_t u,
                              int level) const {
    if (level == 0 || u % longest_node(level) == 0 || before.table != row.table) return true;
    const TensorTrainCores& cores = trains.tables.shards(row.table);
    const std::int64_t below = cores.rows_below(cores.shape.cores - 1 - level);
    return before.row / below != row.row / below;
  }
  KOKKOS_FUNCTION int levels(const PlacedRow<Exec>& row) const {
    return row.table < 0 ? 0 : trains.tables.shards(row.table).shape.cores;
  }
  /// Adds the nodes that begin with row u.
  KOKKOS_FUNCTION void count(std::int64_t u, NodesByLevel& nodes) const {
    const PlacedRow<Exec> before(rows, trains, u - 1), row(rows, trains, u);
    for (int level = 0; level < levels(row); ++level) nodes.at[level] += begins(before, row, u, level);
  }
};

template <class Exec>
NodesByLevel count_nodes(const Exec& exec, const UniqueRows<Exec>& rows, const TensorTrains<Exec>& trains) {
  const NodeFinder<Exec> finder{rows, trains};
  NodesByLevel nodes;
  Kokkos::parallel_reduce(
      "shardmark::count_prefixes", static_range(exec, rows.positions()),
      KOKKOS_LAMBDA(const std::int64_t u, NodesByLevel& sum) {
        if (u < rows.count()) finder.count(u, sum);
      },
      Kokkos::Sum<NodesByLevel>(nodes));
  return nodes;
}

/// Lists the nodes, and of each node and row the key by which it is grouped.
template <class Exec>
struct NodeLister {
  NodeFinder<Exec> finder;
  PrefixNodes<Exec> tree;
  Array<Exec, std::int64_t> keys;

  /// `nodes`: how many begin before row u; u may be the number of rows.
  KOKKOS_FUNCTION void list(std::int64_t u, const NodesByLevel& nodes) const {
    const std::int64_t rows = tree.row_count();
    const PlacedRow<Exec> before(finder.rows, finder.trains, u - 1), row(finder.rows, finder.trains, u < rows ? u : -1);
    const auto next = [&](int level) { return tree.first[level] + nodes.at[level]; };
    for (int level = 1; level < finder.levels(before); ++level)
      if (u == rows || finder.begins(before, row, u, level)) tree.at(next(level) - 1).end = next(level - 1);
    for (int level = 0; level < finder.levels(row); ++level) {
      if (!finder.begins(before, row, u, level)) return;
      const TensorTrainCores& cores = finder.trains.tables.shards(row.table);
      const int t = cores.shape.cores - 1 - level;
      const std::int64_t slice = row.row / cores.rows_below(t) % cores.shape.p[t];
      keys(next(level)) =
          (level * tree.blocks + u / std::int64_t{tree_block}) * finder.trains.slices + cores.first_slice[t] + slice;
      if (level == 0) continue;
      PrefixNode& node = tree.at(next(level));
      node.begin = next(level - 1);
      node.parent = t == 0 ? -1 : next(level + 1) - (finder.begins(before, row, u, level + 1) ? 0 : 1);
      node.slice = slice;
      node.table = row.table;
    }
  }
};

template <class Exec>
void list_nodes(const Exec& exec, const NodeLister<Exec>& lister) {
  const std::int64_t rows = lister.tree.row_count();
  Kokkos::parallel_scan(
      "shardmark::prefix_nodes", static_range(exec, rows + 1),
      KOKKOS_LAMBDA(const std::int64_t u, NodesByLevel& nodes, const bool final) {
        if (final) lister.list(u, nodes);
        if (u < rows) lister.finder.count(u, nodes);
      });
}

/// How many runs there are, and elements of their gradients, before some group.
struct RunsAndElements {
  std::int64_t runs = 0, elements = 0;

  KOKKOS_FUNCTION RunsAndElements& operator+=(const RunsAndElements& other) {
    runs += other.runs;
    elements += other.elements;
    return *this;
  }
};

/// The runs of every group. tail: [2], their number and that of the elements of their gradients.
template <class Exec>
void list_runs(const Exec& exec, const PrefixNodes<Exec>& tree, const TensorTrains<Exec>& trains,
               const Array<Exec, std::int64_t>& tail) {
  const std::int64_t slices = trains.slices, blocks = tree.blocks;
  Kokkos::parallel_scan(
      "shardmark::slice_runs", static_range(exec, tree.groups.positions() + 1),
      KOKKOS_LAMBDA(const std::int64_t g, RunsAndElements& before, const bool final) {
        const std::int64_t count = tree.groups.count();
        if (final && g == count) {
          tail(0) = before.runs;
          tail(1) = before.elements;
        }
        if (g >= count) return;
        const std::int64_t key = tree.groups.key(g), begin = tree.groups.begin(g), end = tree.groups.begin(g + 1);
        const int level = static_cast<int>(key / slices / blocks);
        const std::int64_t longest = longest_run<Exec>(level), first = tree.groups.position(begin);
        const std::int64_t table = level == 0 ? trains.tables.find(tree.rows.key(first)) : tree.at(first).table;
        const TensorTrainCores& cores = trains.tables.shards(table);
        const int t = cores.shape.cores - 1 - level;
        for (std::int64_t at = begin; at < end; at += longest) {
          if (final)
            tree.runs(before.runs) = {.begin = at,
                                      .end = Kokkos::min(at + longest, end),
                                      .slice = key % slices - cores.first_slice[t],
                                      .table = table,
                                      .key = key % slices,
                                      .gradient = before.elements};
          ++before.runs;
          before.elements += (cores.shape.slice_elements(t) + lane_count - 1) / lane_count * lane_count;
        }
      });
}

/// bounds[i], bounds[i + 1 + number of blocks of all levels]: first run and node of each block of each level.
template <class Exec>
void find_bounds(const Exec& exec, const PrefixNodes<Exec>& tree, std::int64_t slices,
                 const Array<Exec, std::int64_t>& bounds) {
  const std::int64_t count = tree.levels * tree.blocks + 1;
  Kokkos::parallel_for(
      "shardmark::prefix_bounds", static_range(exec, count), KOKKOS_LAMBDA(const std::int64_t i) {
        const auto& groups = tree.groups;
        const std::int64_t group =
            first_at_least(groups.count(), i * slices, [&](std::int64_t g) { return groups.key(g); });
        const std::int64_t node = groups.begin(group);
        bounds(i) = first_at_least(bounds(2 * count), node, [&](std::int64_t run) { return tree.runs(run).begin; });
        bounds(count + i) = node;
      });
}

template <class Exec>
PrefixTree<Exec> prefix_tree(const Exec& exec, const UniqueRows<Exec>& rows, const TensorTrains<Exec>& trains,
                             PrefixTreeWorkspace<Exec>& workspace) {
  PrefixTree<Exec> tree;
  PrefixNodes<Exec>& nodes = tree.nodes;
  nodes.rows = rows;
  nodes.levels = trains.levels;
  const NodesByLevel counts = count_nodes(exec, rows, trains);
  for (int level = 0; level < TensorTrainShape::most_cores; ++level)
    nodes.first[level + 1] = nodes.first[level] + counts.at[level];
  const std::int64_t all = nodes.first.back();
  nodes.blocks = (nodes.row_count() + tree_block - 1) / tree_block;
  nodes.nodes = workspace.nodes.first(all - nodes.row_count());
  const Array<Exec, std::int64_t> keys = workspace.keys.first(all);
  if (all > 0) list_nodes(exec, NodeLister<Exec>{{rows, trains}, nodes, keys});
  nodes.groups = unique_rows<Exec>(exec, keys, nodes.levels * nodes.blocks * trains.slices, workspace.groups);
  nodes.runs = workspace.runs.first(all);
  const std::int64_t bounds = nodes.levels * nodes.blocks + 1;
  const Array<Exec, std::int64_t> found = workspace.bounds.first(2 * bounds + 2);
  list_runs<Exec>(exec, nodes, trains, Kokkos::subview(found, std::pair(2 * bounds, 2 * bounds + 2)));
  find_bounds(exec, nodes, trains.slices, found);
  std::vector<std::int64_t> on_host(static_cast<std::size_t>(2 * bounds + 2));
  Kokkos::deep_copy(
      exec, Kokkos::View<std::int64_t*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(on_host.data(), on_host.size()),
      found);
  exec.fence("shardmark: the host reads how many nodes and runs there are");
  tree.block_runs.assign(on_host.begin(), on_host.begin() + bounds);
  tree.block_nodes.assign(on_host.begin() + bounds, on_host.begin() + 2 * bounds);
  tree.gradient_elements = on_host.back();
  return tree;
}

template <class Exec>
std::vector<std::array<std::int64_t, TensorTrainShape::most_cores>> count_prefixes(const Exec& exec,
                                                                                   const PrefixTree<Exec>& tree,
                                                                                   const TensorTrains<Exec>& trains) {
  constexpr int most = TensorTrainShape::most_cores;
  const PrefixNodes<Exec>& nodes = tree.nodes;
  const Array<Exec, std::int64_t> counts("shardmark::prefix_counts", trains.tables.count() * most);
  Kokkos::parallel_for(
      "shardmark::count_prefixes_of_tables", static_range(exec, nodes.first.back()),
      KOKKOS_LAMBDA(const std::int64_t number) {
        const bool is_row = number < nodes.row_count();
        const std::int64_t table = is_row ? trains.tables.find(nodes.rows.key(number)) : nodes.at(number).table;
        int level = 0;
        while (number >= nodes.first[level + 1]) ++level;
        Kokkos::atomic_inc(&counts(table * most + trains.tables.shards(table).shape.cores - 1 - level));
      });
  std::vector<std::array<std::int64_t, most>> result(static_cast<std::size_t>(trains.tables.count()));
  Kokkos::deep_copy(exec,
                    Kokkos::View<std::int64_t*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(
                        result.empty() ? nullptr : result.front().data(), counts.extent(0)),
                    counts);
  exec.fence("shardmark: the host reads the counts of prefixes");
  return result;
}

#define PREFIX_TREE_ON(Exec) SHARDMARK_INSTANCE(prefix_tree<Exec>) SHARDMARK_INSTANCE(count_prefixes<Exec>)
SHARDMARK_ON_EACH_SPACE(PREFIX_TREE_ON)

}  // namespace shardmark::kernels
