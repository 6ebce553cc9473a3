// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/test/traffic_oracle.hpp"

#include <bit>
#include <iterator>
#include <numeric>
#include <set>
#include <tuple>

namespace shardmark::placement {
namespace {

constexpr std::int64_t length_bytes = 4, count_bytes = 8, weight_bytes = 4, value_bytes = 4, sum_bytes = 8,
                       row_id_bytes = 4;

void add_direct(std::span<const std::int64_t> bytes, ByteMatrix& sent) {
  for (int from = 0; from < sent.ranks(); ++from)
    for (int to = 0; to < sent.ranks(); ++to) sent.add(from, to, bytes[to]);
}

/// q -> q xor d, d = 1, 2, 4, ...: bytes of the ranks whose q differs from the receiver's by bits below d alone; with
/// the ranks that leave their work to another as comm/reduction/halving_reduction.hpp says.
void add_halving(std::span<const std::int64_t> bytes, ByteMatrix& sent) {
  const int ranks = sent.ranks();
  const int folded = ranks - static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  const auto number = [&](int rank) { return rank < 2 * folded ? rank / 2 : rank - folded; };
  const auto folds = [&](int rank) { return rank < 2 * folded && rank % 2 == 0; };
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      for (int needed = 0; needed < ranks; ++needed) {
        const std::int64_t part = bytes[needed];
        const int difference = number(from) ^ number(to);
        if (folds(from)) sent.add(from, to, to == from + 1 ? part : 0);
        if (folds(to)) sent.add(from, to, to == from - 1 && needed == to ? part : 0);
        if (folds(from) || folds(to) || !std::has_single_bit(static_cast<unsigned>(difference))) continue;
        sent.add(from, to, number(needed) / difference == number(to) / difference ? part : 0);
      }
}

/// Sums over whole rows that the optimizer takes.
std::int64_t sums_per_row(OptimizerKind kind) {
  if (kind == OptimizerKind::lamb) return 2;
  return kind == OptimizerKind::rowwise_adagrad || kind == OptimizerKind::rowwise_adam ? 1 : 0;
}

class Prediction {
 public:
  Prediction(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features,
             std::span<const Batch> homes, const Movement& movement, const Decisions& decided,
             const std::vector<int>& node_of)
      : plan_(plan),
        tables_(tables),
        features_(features),
        homes_(homes),
        movement_(movement),
        decided_(decided),
        node_of_(node_of),
        weighted_(std::ranges::any_of(homes, [](const Batch& batch) { return !batch.weights.empty(); })),
        all_ranks_(static_cast<std::size_t>(plan.ranks)) {
    std::iota(all_ranks_.begin(), all_ranks_.end(), 0);
  }

  Traffic traffic() {
    for (std::int64_t f = 0; f < std::ssize(features_); ++f)
      for (const Shard& shard : placement_of(feature(f).table).shards) add_lookups(f, shard);
    if (adds_on_the_way(movement_.transfer)) add_reductions();
    add_node_sums();
    add_unique_rows();
    add_row_sums();
    add_replicated_gradients();
    return traffic_;
  }

 private:
  const Feature& feature(std::int64_t f) const { return features_[f]; }
  const Table& table(std::int64_t t) const { return tables_[t]; }
  const Batch& home(int rank) const { return homes_[rank]; }
  const TablePlacement& placement_of(std::int64_t t) const { return plan_.tables[t]; }

  std::span<const std::int64_t> ids(std::int64_t f, int rank) const {
    const Batch& batch = home(rank);
    const auto begin = static_cast<std::size_t>(batch.begin_of(f));
    return std::span(batch.indices).subspan(begin, static_cast<std::size_t>(batch.end_of(f)) - begin);
  }
  std::int64_t bags(std::int64_t f, int rank) const {
    if (feature(f).pooling == Pooling::none) return std::ssize(ids(f, rank));
    if (feature(f).segment_rank == 0) return home(rank).samples;
    const auto first = home(rank).first_segment.begin() + f * home(rank).samples;
    return *(first + home(rank).samples) - *first;
  }
  /// Says of an id whether its row is there: by its number, or by the row that stands for the bucket of its key.
  std::function<bool(std::int64_t)> holds(std::int64_t t, const RowSet& rows) const {
    if (table(t).storage != Storage::dynamic) return [rows](std::int64_t id) { return rows.contains(id); };
    return [rows, keys = KeyBuckets::of_table(t), all = table(t).rows](std::int64_t id) {
      return rows.contains(row_of_bucket(keys.bucket(id), all));
    };
  }
  bool row_split(std::int64_t t, const Shard& shard) const {
    return shard.rows.count() < table(t).rows - placement_of(t).hot_rows;
  }
  /// Of a table or its hot rows: how many every rank has.
  std::int64_t copied_rows(std::int64_t t) const {
    return placement_of(t).data_parallel ? table(t).rows : placement_of(t).hot_rows;
  }

  RowTransfer transfer_of(std::int64_t t, const Shard& shard) const {
    if (!row_split(t, shard)) return RowTransfer::dense_partials;
    if (movement_.transfer != RowTransfer::automatic) return movement_.transfer;
    for (const auto& [columns, transfer] : decided_.splits)
      if (columns == TableColumns{t, shard.column_begin, shard.column_end}) return transfer;
    throw InputError("nothing is decided of the columns");
  }

  Dedup dedup() const { return movement_.dedup == Dedup::automatic ? decided_.dedup : movement_.dedup; }

  /// Ids to the owner, vectors home, gradients to the owner.
  void add_lookups(std::int64_t f, const Shard& shard) {
    const RowTransfer transfer = transfer_of(feature(f).table, shard);
    if (transfer == RowTransfer::unique_rows) return;
    for (int i = 0; i < plan_.ranks; ++i) {
      const auto held = std::ranges::count_if(ids(f, i), holds(feature(f).table, shard.rows));
      traffic_.input_dist.add(i, shard.rank,
                              bags(f, i) * length_bytes + held * (id_bytes_ + (weighted_ ? weight_bytes : 0)));
      if (transfer == RowTransfer::dense_partials ||
          (transfer == RowTransfer::node_partials && !is_added(feature(f).table, shard)))
        add_vectors(i, shard.rank, bags(f, i), shard.columns());
      if (transfer == RowTransfer::sparse_partials)
        add_vectors(i, shard.rank, touched_bags(f, i, shard), shard.columns());
    }
  }

  /// Bags that hold an id of the shard.
  std::int64_t touched_bags(std::int64_t f, int i, const Shard& shard) const {
    const auto held = holds(feature(f).table, shard.rows);
    if (feature(f).pooling == Pooling::none) return std::ranges::count_if(ids(f, i), held);
    const Batch& batch = home(i);
    const bool by_segment = feature(f).segment_rank == 1;
    const auto* const bag =
        by_segment ? &batch.segment_offsets[batch.first_segment[f * batch.samples]] : &batch.offsets[f * batch.samples];
    std::int64_t touched = 0;
    for (std::int64_t s = 0; s < bags(f, i); ++s) {
      const auto begin = home(i).indices.begin();
      touched += std::any_of(begin + bag[s], begin + bag[s + 1], held);
    }
    return touched;
  }

  void add_vectors(int i, int owner, std::int64_t vectors, std::int64_t columns) {
    add_vectors(i, owner, vectors, columns, movement_.wire);
  }
  void add_vectors(int i, int owner, std::int64_t vectors, std::int64_t columns, WireTypes wire) {
    traffic_.output_dist.add(owner, i, vectors * row_bytes(wire.forward, columns));
    traffic_.grad_dist.add(i, owner, vectors * row_bytes(wire.backward, columns));
  }

  /// One rank asks another for rows of a shard, and for how many.
  void add_rows(int i, int holder, std::int64_t rows, std::int64_t columns, WireTypes wire) {
    traffic_.input_dist.add(i, holder, count_bytes + rows * id_bytes_);
    add_vectors(i, holder, rows, columns, wire);
  }

  /// The rows that the samples of a rank name, of every feature that reads the table.
  void add_unique_rows() {
    for (std::int64_t t = 0; t < std::ssize(tables_); ++t) {
      if (std::ranges::none_of(features_, [t](const Feature& f) { return f.table == t; })) continue;
      for (const Shard& shard : placement_of(t).shards) {
        if (transfer_of(t, shard) != RowTransfer::unique_rows || shard.rows.count() == 0) continue;
        if (dedup() == Dedup::node) add_rows_by_node(t, shard);
        for (int i = 0; i < plan_.ranks && dedup() != Dedup::node; ++i)
          add_rows(i, shard.rank,
                   asks_once(dedup()) ? distinct_rows(t, shard.rows, {i}) : std::ssize(named_rows(t, shard.rows, i)),
                   shard.columns(), movement_.wire);
      }
    }
  }

  /// Through the rank of each node that has the owner's local rank.
  void add_rows_by_node(std::int64_t t, const Shard& shard) {
    for (const int middle : ranks_of_local_rank(shard.rank)) {
      const std::vector<int> homes = ranks_of_node(middle);
      for (const int i : homes) add_rows(i, middle, distinct_rows(t, shard.rows, {i}), shard.columns(), {});
      add_rows(middle, shard.rank, distinct_rows(t, shard.rows, homes), shard.columns(), movement_.wire);
    }
  }
  std::vector<int> ranks_of_node(int rank) const {
    std::vector<int> ranks;
    for (std::size_t r = 0; r < node_of_.size(); ++r)
      if (node_of_[r] == node_of_[rank]) ranks.push_back(static_cast<int>(r));
    return ranks;
  }
  std::vector<int> ranks_of_local_rank(int rank) const {
    const auto local_rank = [&](int r) {
      const std::vector<int> node = ranks_of_node(r);
      return std::ranges::find(node, r) - node.begin();
    };
    std::vector<int> ranks;
    for (int r = 0; r < plan_.ranks; ++r)
      if (local_rank(r) == local_rank(rank)) ranks.push_back(r);
    return ranks;
  }

  /// One partial sum of every row-split column from every rank.
  void add_reductions() {
    std::vector<std::int64_t> bytes(homes_.size());
    for (std::int64_t f = 0; f < std::ssize(features_); ++f) {
      std::set<std::pair<std::int64_t, std::int64_t>> columns;
      for (const Shard& shard : placement_of(feature(f).table).shards)
        if (row_split(feature(f).table, shard)) columns.emplace(shard.column_begin, shard.column_end);
      for (const auto& [begin, end] : columns)
        for (int i = 0; i < plan_.ranks; ++i) bytes[i] += bags(f, i) * (end - begin) * value_bytes;
    }
    ByteMatrix sums(plan_.ranks);
    movement_.transfer == RowTransfer::reduce_scatter_halving ? add_halving(bytes, sums) : add_direct(bytes, sums);
    traffic_.output_dist += sums;
    for (int i = 0; i < plan_.ranks; ++i)
      for (int j = 0; j < plan_.ranks; ++j) traffic_.grad_dist.add(i, j, sums(j, i));
  }

  /// Shards of a table and of these columns that ranks of the node have.
  std::vector<int> holders_on_node(std::int64_t t, const std::pair<std::int64_t, std::int64_t>& columns,
                                   const std::vector<int>& node) const {
    std::vector<int> holders;
    for (const Shard& shard : placement_of(t).shards)
      if (columns == std::pair(shard.column_begin, shard.column_end) && std::ranges::count(node, shard.rank) > 0)
        holders.push_back(shard.rank);
    return holders;
  }
  /// Says whether ranks of the node have a shard each, several of them.
  bool is_added(std::int64_t t, const Shard& shard) const {
    if (node_of_.empty()) return false;
    const auto holders = holders_on_node(t, {shard.column_begin, shard.column_end}, ranks_of_node(shard.rank));
    return holders.size() > 1 && std::set<int>(holders.begin(), holders.end()).size() == holders.size();
  }

  /// From every rank of a node to the one there that stands for the home, and one sum from that one to the home.
  void add_node_sums() {
    for (std::int64_t f = 0; f < std::ssize(features_); ++f) {
      const std::int64_t t = feature(f).table;
      std::set<std::tuple<std::int64_t, std::int64_t, std::vector<int>>> added;
      for (const Shard& shard : placement_of(t).shards)
        if (transfer_of(t, shard) == RowTransfer::node_partials && is_added(t, shard))
          added.emplace(shard.column_begin, shard.column_end, ranks_of_node(shard.rank));
      for (const auto& [begin, end, node] : added)
        for (int i = 0; i < plan_.ranks; ++i) {
          const std::vector<int> neighbours = ranks_of_node(i);
          const auto number = std::ranges::find(neighbours, i) - neighbours.begin();
          const int adder = node[static_cast<std::size_t>(number) % node.size()];
          for (const int rank : node) add_vectors(adder, rank, bags(f, i), end - begin, {});
          add_vectors(i, adder, bags(f, i), end - begin);
        }
    }
  }

  /// Rows that the ids of a rank's samples name, one by one.
  std::vector<std::int64_t> named_rows(std::int64_t t, const RowSet& rows, int i) const {
    std::vector<std::int64_t> named;
    for (std::int64_t f = 0; f < std::ssize(features_); ++f) {
      if (feature(f).table != t) continue;
      std::ranges::copy_if(ids(f, i), std::back_inserter(named), holds(t, rows));
    }
    return named;
  }
  /// Different rows that the samples of some ranks name.
  std::int64_t distinct_rows(std::int64_t t, const RowSet& rows, const std::vector<int>& ranks) const {
    std::set<std::int64_t> distinct;
    for (const int i : ranks) {
      const auto named = named_rows(t, rows, i);
      distinct.insert(named.begin(), named.end());
    }
    return std::ssize(distinct);
  }

  std::int64_t sums_needed(std::int64_t t) const {
    const bool split =
        std::ranges::any_of(placement_of(t).shards, [&](const Shard& s) { return s.columns() < table(t).dim; });
    return split ? sums_per_row(table(t).optimizer.kind) : 0;
  }

  void add_row_sums() {
    std::int64_t width = 0;
    for (std::int64_t t = 0; t < std::ssize(tables_); ++t) width = std::max(width, sums_needed(t));
    for (std::int64_t t = 0; t < std::ssize(tables_); ++t) {
      if (sums_needed(t) == 0) continue;
      for (const Shard& from : placement_of(t).shards) {
        const std::int64_t bytes = width * sum_bytes * distinct_rows(t, from.rows, all_ranks_);
        for (const Shard& to : placement_of(t).shards)
          if (to.rows == from.rows && to.column_begin != from.column_begin)
            traffic_.update.add(from.rank, to.rank, bytes);
      }
    }
  }

  void add_replicated_gradients() {
    std::int64_t ring_bytes = 0;
    for (std::int64_t t = 0; t < std::ssize(tables_); ++t) {
      if (copied_rows(t) == 0) continue;
      if (movement_.replicated_gradients == ReplicatedGradients::rows ||
          (movement_.replicated_gradients == ReplicatedGradients::automatic && decided_.by_rows[t]))
        add_gathered_gradients(t);
      else
        ring_bytes += 2 * (plan_.ranks - 1) * copied_rows(t) * (table(t).dim + 1) * value_bytes / plan_.ranks;
    }
    for (int i = 0; i < plan_.ranks; ++i) traffic_.update.add(i, (i + 1) % plan_.ranks, ring_bytes);
  }

  void add_gathered_gradients(std::int64_t t) {
    for (int i = 0; i < plan_.ranks; ++i) {
      const std::int64_t rows = distinct_rows(t, {0, copied_rows(t), 1}, {i});
      for (int j = 0; j < plan_.ranks; ++j)
        traffic_.update.add(i, j, 8 + rows * (row_id_bytes + table(t).dim * value_bytes));
    }
  }

  const Plan& plan_;
  std::span<const Table> tables_;
  std::span<const Feature> features_;
  std::span<const Batch> homes_;
  Movement movement_;
  Decisions decided_;
  std::vector<int> node_of_;
  bool weighted_;
  std::int64_t id_bytes_ = bytes_of(id_type(movement_.wire_ids, plan_, tables_));
  std::vector<int> all_ranks_;
  Traffic traffic_{plan_.ranks};
};

}  // namespace

Traffic predict_traffic(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features,
                        std::span<const Batch> homes, const Movement& movement, const Decisions& decided,
                        const std::vector<int>& node_of) {
  return Prediction(plan, tables, features, homes, movement, decided, node_of).traffic();
}

}  // namespace shardmark::placement
