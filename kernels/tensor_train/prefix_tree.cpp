// SPDX-License-Identifier: Apache-2.0
#include "kernels/tensor_train/prefix_tree.hpp"

#include "kernels/instantiate.hpp"

namespace shardmark::kernels {

/// Counts the nodes at each level, or those before some row.
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

/// Finds what begins with each row, by comparing it with the one before it.
template <class Exec>
struct RowStarts {
  UniqueRows<Exec> rows;
  TensorTrains<Exec> tts;
  Array<Exec, RowStart> starts;

  KOKKOS_FUNCTION void find(std::int64_t u) const {
    const std::int64_t table = tts.tables.find(rows.key(u));
    const TensorTrainCores& cores = tts.tables.shards(table);
    const std::int64_t row = rows.key(u) - cores.first_key, before = u == 0 ? -1 : rows.key(u - 1) - cores.first_key;
    int levels = before < 0 ? cores.shape.cores : 1;
    std::int64_t below = 1;
    for (int level = 1; level < cores.shape.cores && levels == level; ++level) {
      below *= cores.shape.p[cores.shape.cores - level];
      if (u % longest_node(level) == 0 || before / below != row / below) levels = level + 1;
    }
    starts(u) = {static_cast<std::int32_t>(table), levels};
  }
  KOKKOS_FUNCTION void count(std::int64_t u, NodesByLevel& nodes) const {
    for (int level = 0; level < starts(u).levels; ++level) ++nodes.at[level];
  }
};

template <class Exec>
NodesByLevel find_starts(const Exec& exec, const RowStarts<Exec>& starts) {
  NodesByLevel nodes;
  Kokkos::parallel_reduce(
      "shardmark::prefix_starts", static_range(exec, starts.rows.positions()),
      KOKKOS_LAMBDA(const std::int64_t u, NodesByLevel& sum) {
        if (u >= starts.rows.count()) return;
        starts.find(u);
        starts.count(u, sum);
      },
      Kokkos::Sum<NodesByLevel>(nodes));
  return nodes;
}

/// Lists the nodes, and of each node and row the key by which it is grouped.
template <class Exec>
struct NodeLister {
  RowStarts<Exec> starts;
  PrefixNodes<Exec> tree;
  Array<Exec, std::int64_t> keys;

  /// Lists the nodes that begin with row u. `nodes`: how many begin before row u; u may be the number of rows.
  KOKKOS_FUNCTION void list(std::int64_t u, const NodesByLevel& nodes) const {
    if (u > 0) end_nodes(u, nodes);
    if (u == tree.row_count()) return;
    const RowStart start = starts.starts(u);
    const TensorTrainCores& cores = starts.tts.tables.shards(start.table);
    std::int64_t rest = starts.rows.key(u) - cores.first_key;
    for (int level = 0; level < start.levels; ++level) {
      const int t = cores.shape.cores - 1 - level;
      const std::int64_t slice = rest % cores.shape.p[t], number = next(level, nodes);
      rest /= cores.shape.p[t];
      keys(number) =
          (level * tree.blocks + u / std::int64_t{tree_block}) * starts.tts.slices + cores.first_slice[t] + slice;
      if (level == 0) continue;
      PrefixNode& node = tree.at(number);
      node.begin = next(level - 1, nodes);
      node.parent = t == 0 ? -1 : next(level + 1, nodes) - (level + 1 < start.levels ? 0 : 1);
      node.slice = slice;
      node.table = start.table;
    }
  }

 private:
  KOKKOS_FUNCTION std::int64_t next(int level, const NodesByLevel& nodes) const {
    return tree.first[level] + nodes.at[level];
  }
  /// Ends the nodes that have no row behind u - 1.
  KOKKOS_FUNCTION void end_nodes(std::int64_t u, const NodesByLevel& nodes) const {
    const std::int32_t table = starts.starts(u - 1).table;
    const bool same = u < tree.row_count() && starts.starts(u).table == table;
    const int levels = same ? starts.starts(u).levels : starts.tts.tables.shards(table).shape.cores;
    for (int level = 1; level < levels; ++level) tree.at(next(level, nodes) - 1).end = next(level - 1, nodes);
  }
};

template <class Exec>
void list_nodes(const Exec& exec, const NodeLister<Exec>& lister) {
  const std::int64_t rows = lister.tree.row_count();
  Kokkos::parallel_scan(
      "shardmark::prefix_nodes", static_range(exec, rows + 1),
      KOKKOS_LAMBDA(const std::int64_t u, NodesByLevel& nodes, const bool final) {
        if (final) lister.list(u, nodes);
        if (u < rows) lister.starts.count(u, nodes);
      });
}

/// Counts the runs, and elements of their gradients, before some group.
struct RunsAndElements {
  std::int64_t runs = 0, elements = 0;

  KOKKOS_FUNCTION RunsAndElements& operator+=(const RunsAndElements& other) {
    runs += other.runs;
    elements += other.elements;
    return *this;
  }
};

/// Lists the runs of every group. tail: [2], their number and that of the elements of their gradients.
template <class Exec>
void list_runs(const Exec& exec, const PrefixNodes<Exec>& tree, const TensorTrains<Exec>& tts,
               const Array<Exec, std::int64_t>& tail) {
  const std::int64_t slices = tts.slices, blocks = tree.blocks;
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
        const std::int64_t table = level == 0 ? tts.tables.find(tree.rows.key(first)) : tree.at(first).table;
        const TensorTrainCores& cores = tts.tables.shards(table);
        const int t = cores.shape.cores - 1 - level;
        for (std::int64_t at = begin; at < end; at += longest) {
          if (final)
            tree.runs(before.runs) = {.begin = at,
                                      .end = Kokkos::min(at + longest, end),
                                      .slice = key % slices - cores.first_slice[t],
                                      .table = table,
                                      .core = t,
                                      .key = key % slices,
                                      .gradient = before.elements};
          ++before.runs;
          before.elements += cores.step(t).padded_slice();
        }
      });
}

/// Finds bounds: [3, blocks of all levels + 1] first run, first node and first element of each block of each level.
template <class Exec>
void find_bounds(const Exec& exec, const PrefixNodes<Exec>& tree, std::int64_t slices,
                 const Array<Exec, std::int64_t>& tail, const Array<Exec, std::int64_t>& bounds) {
  const std::int64_t count = tree.levels * tree.blocks + 1;
  Kokkos::parallel_for(
      "shardmark::prefix_bounds", static_range(exec, count), KOKKOS_LAMBDA(const std::int64_t i) {
        const auto& groups = tree.groups;
        const std::int64_t group =
            first_at_least(groups.count(), i * slices, [&](std::int64_t g) { return groups.key(g); });
        const std::int64_t node = groups.begin(group);
        const std::int64_t run = first_at_least(tail(0), node, [&](std::int64_t r) { return tree.runs(r).begin; });
        bounds(i) = run;
        bounds(count + i) = node;
        bounds(2 * count + i) = run < tail(0) ? tree.runs(run).gradient : tail(1);
      });
}

template <class Exec>
PrefixTree<Exec> prefix_tree(const Exec& exec, const UniqueRows<Exec>& rows, const TensorTrains<Exec>& tts,
                             PrefixTreeWorkspace<Exec>& workspace) {
  PrefixTree<Exec> tree;
  PrefixNodes<Exec>& nodes = tree.nodes;
  nodes.rows = rows;
  nodes.levels = tts.levels;
  const RowStarts<Exec> starts{rows, tts, workspace.starts.first(rows.positions())};
  const NodesByLevel counts = find_starts(exec, starts);
  for (int level = 0; level < TensorTrainShape::most_cores; ++level)
    nodes.first[level + 1] = nodes.first[level] + counts.at[level];
  const std::int64_t all = nodes.first.back();
  nodes.blocks = (nodes.row_count() + tree_block - 1) / tree_block;
  nodes.nodes = workspace.nodes.first(all - nodes.row_count());
  const Array<Exec, std::int64_t> keys = workspace.keys.first(all);
  if (all > 0) list_nodes(exec, NodeLister<Exec>{starts, nodes, keys});
  nodes.groups = unique_rows<Exec>(exec, keys, nodes.levels * nodes.blocks * tts.slices, workspace.groups);
  nodes.runs = workspace.runs.first(all);
  const Array<Exec, std::int64_t> tail = workspace.tail.first(2);
  list_runs(exec, nodes, tts, tail);
  const std::int64_t bounds = nodes.levels * nodes.blocks + 1;
  const Array<Exec, std::int64_t> found = workspace.bounds.first(3 * bounds);
  find_bounds(exec, nodes, tts.slices, tail, found);
  std::vector<std::int64_t> on_host(static_cast<std::size_t>(3 * bounds));
  copy_array(exec, host_array(on_host), found);
  exec.fence("shardmark: the host reads how many nodes and runs there are");
  tree.block_runs.assign(on_host.begin(), on_host.begin() + bounds);
  tree.block_nodes.assign(on_host.begin() + bounds, on_host.begin() + 2 * bounds);
  tree.block_elements.assign(on_host.begin() + 2 * bounds, on_host.end());
  return tree;
}

template <class Exec>
std::vector<std::array<std::int64_t, TensorTrainShape::most_cores>> count_prefixes(const Exec& exec,
                                                                                   const PrefixTree<Exec>& tree,
                                                                                   const TensorTrains<Exec>& tts) {
  constexpr int most = TensorTrainShape::most_cores;
  const PrefixNodes<Exec>& nodes = tree.nodes;
  const Array<Exec, std::int64_t> counts("shardmark::prefix_counts", tts.tables.count() * most);
  Kokkos::parallel_for(
      "shardmark::count_prefixes_of_tables", static_range(exec, nodes.first.back()),
      KOKKOS_LAMBDA(const std::int64_t number) {
        const bool is_row = number < nodes.row_count();
        const std::int64_t table = is_row ? tts.tables.find(nodes.rows.key(number)) : nodes.at(number).table;
        int level = 0;
        while (number >= nodes.first[level + 1]) ++level;
        Kokkos::atomic_inc(&counts(table * most + tts.tables.shards(table).shape.cores - 1 - level));
      });
  std::vector<std::array<std::int64_t, most>> result(static_cast<std::size_t>(tts.tables.count()));
  Kokkos::deep_copy(exec,
                    Kokkos::View<std::int64_t*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(
                        result.empty() ? nullptr : result.front().data(), counts.extent(0)),
                    counts);
  exec.fence("shardmark: the host reads the counts of prefixes");
  return result;
}

SHARDMARK_INSTANCE(prefix_tree<DefaultSpace>)
SHARDMARK_INSTANCE(count_prefixes<DefaultSpace>)

}  // namespace shardmark::kernels
