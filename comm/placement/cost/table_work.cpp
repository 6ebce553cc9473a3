// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "comm/placement/cost/table_sums.hpp"

namespace shardmark::placement {
namespace {

/// Adds the work of the shards of one range of columns, which together hold every row that is not hot once.
class StripWork {
 public:
  StripWork(TableSums& sums, const std::vector<const Shard*>& shards)
      : sums_(sums), shards_(shards), columns_(shards.front()->columns()), w_(static_cast<double>(columns_)) {
    HomeLookups own{.home = 0, .ranks = sums.step.ranks, .columns = columns_, .holders = {}};
    for (const Shard* shard : shards) {
      looked_.push_back(sums.looked_up(shard->rows, 1.0));
      own.holders.push_back({shard->rank, looked_.back().own});
    }
    outputs_ = looked_.front().own.bags * w_;
    transfer_ = transfer_of(sums.step, sums.number, shards, own, sums.packing);
    trips_ = choice_of(transfer_).bytes(own, sums.packing);
    if (transfer_ == RowTransfer::node_partials) find_nodes(own);
    const bool one = node_sums_ == 1 ? alone_ == 0 : shards.size() == 1;
    in_place_ = one && columns_ == sums.table.dim && sums.placement.hot_rows == 0;
  }

  void add() {
    const bool rows = transfer_ == RowTransfer::unique_rows;
    (rows ? sums_.work.totals.asks_rows : sums_.work.totals.pools) = 1;
    if (rows)
      TableSums::add(sums_.everywhere(), Term::pooled_value, outputs_);
    else if (reduces())
      add_reduced();
    else if (!in_place_)
      sums_.add_outputs(sums_.everywhere(), outputs_);
    if (sums_.pools.divides) add_divided();
    add_vectors();
    for (std::size_t s = 0; s < shards_.size(); ++s) {
      if (!rows || sums_.packing.dedup != Dedup::node) add_bytes(trips_[s]);
      rows ? add_single_rows(sums_, *shards_[s], looked_[s]) : add_pooled(*shards_[s], looked_[s]);
    }
    for (int node = 0; node < std::ssize(adds_); ++node)
      if (adds_[node]) add_node_sums(sums_.packing.nodes.ranks_of(node));
  }

 private:
  /// A processor guesses well which bags of a shard are empty where almost all are, or almost none.
  static double mixed_bags(const ShardCounts& counts) {
    return std::min(counts.touched_bags, counts.bags - counts.touched_bags);
  }

  bool reduces() const { return adds_on_the_way(transfer_); }

  /// Finds the nodes whose ranks add their partial sums, and how many owners send theirs alone.
  void find_nodes(const HomeLookups& own) {
    std::vector<int> holders;
    for (const auto& [rank, counts] : own.holders) holders.push_back(rank);
    adds_ = nodes_that_add(sums_.packing.nodes, holders);
    node_sums_ = static_cast<int>(std::ranges::count(adds_, true));
    alone_ = static_cast<int>(std::ranges::count_if(holders, [&](int rank) { return !sends_to_node(rank); }));
  }
  /// Returns whether a rank hands its partial sums to those of its node.
  bool sends_to_node(int rank) const { return !adds_.empty() && adds_[sums_.packing.nodes.of(rank)]; }

  /// Adds the sums of a node for all homes: each of its ranks adds those of the homes that have its number on their
  /// nodes, sends them there along its rail, and hands the gradients that come back to its neighbours.
  void add_node_sums(const std::vector<int>& ranks) {
    const auto homes = static_cast<double>(sums_.packing.nodes.count()), others = static_cast<double>(ranks.size() - 1);
    const WireTypes& wire = sums_.packing.wire;
    const double bags = looked_.front().own.bags;
    for (const int rank : ranks) {
      RankWork& adder = sums_.owners[rank];
      adder.vectors.node += homes * 4 * outputs_;
      adder.gradients.node += homes * 4 * outputs_;
      adder.vectors.rail += bags * static_cast<double>(row_bytes(wire.forward, columns_));
      adder.gradients.rail += bags * static_cast<double>(row_bytes(wire.backward, columns_));
      sums_.add_outputs(adder, 3 * homes * others * outputs_);
      TableSums::add(adder, Term::gradient_value, 2 * homes * others * outputs_);
      sums_.add_codec(adder, homes * outputs_);
    }
    RankWork& home = sums_.everywhere();
    if (!in_place_) sums_.add_outputs(home, outputs_);
    TableSums::add(home, Term::gradient_value, 2 * outputs_);
    sums_.add_lines(home, Term::gradient_line, outputs_ / TableSums::values_of_line);
    sums_.add_codec(home, outputs_);
  }

  /// Adds the bytes of a round trip. Where partial sums are added on their way it adds the ids alone: the other bytes
  /// are the same for all ranks.
  void add_bytes(const RoundTrip& trip) {
    RankWork& owner = sums_.owners[trip.owner];
    owner.requested.all += trip.requested;
    if (reduces()) return;
    owner.vectors.all += trip.vectors;
    owner.gradients.all += trip.gradients;
  }

  /// Adds the sums that are made on the way: every rank has a term of them, and adds those of the others.
  void add_reduced() {
    RankWork& everywhere = sums_.everywhere();
    sums_.work.totals.reduced += 4 * outputs_;
    sums_.add_outputs(everywhere, 3 * outputs_ * (sums_.ranks() - 1));
    TableSums::add(everywhere, Term::gradient_value, 2 * outputs_);
    if (columns_ != sums_.table.dim || sums_.placement.hot_rows > 0) sums_.add_outputs(everywhere, 2 * outputs_);
  }

  /// Adds buffers of vectors: of outputs, of what travels of them, and of hot rows beside them.
  void add_vectors() {
    const RowTransfer transfer = transfer_;
    const bool rows = transfer == RowTransfer::unique_rows;
    const auto travelling = transfer == RowTransfer::sparse_partials ? &ShardCounts::touched_bags : &ShardCounts::bags;
    const auto bytes_of = [&](const VectorBytes& vectors) {
      return bytes_of_vectors(vectors, sums_.pools, transfer, sums_.packing.wire);
    };
    VectorBytes home{.outputs = 4 * outputs_, .behind = in_place_ ? 0.0 : 4 * outputs_};
    if (sums_.placement.hot_rows > 0) home.own_partials = (rows ? 2 : 1) * home.outputs;
    if (reduces()) home.packed = home.outputs, home.reduced = home.owner = sums_.ranks() * home.outputs;
    home.packed += node_sums_ * home.outputs;
    if (!rows && !reduces())
      for (std::size_t s = 0; s < shards_.size(); ++s)
        if (!sends_to_node(shards_[s]->rank)) home.packed += 4 * looked_[s].own.*travelling * w_;
    const double at_home = bytes_of(home);
    TableSums::add_buffer(sums_.everywhere(), at_home);
    if (rows || reduces()) return;
    std::map<int, double> sent_home;
    for (std::size_t s = 0; s < shards_.size(); ++s)
      if (!sends_to_node(shards_[s]->rank)) sent_home[shards_[s]->rank] += 4 * looked_[s].all.*travelling * w_;
    for (int rank = 0; rank < sums_.step.ranks; ++rank)
      if (sends_to_node(rank)) sent_home[rank] = sums_.ranks() * home.outputs;
    for (const auto& [rank, bytes] : sent_home) {
      VectorBytes owner = home;
      owner.owner = bytes;
      if (sends_to_node(rank)) owner.packed += sums_.packing.nodes.count() * home.outputs;  // the sums that it makes
      TableSums::add_buffer(sums_.owners[rank], bytes_of(owner) - at_home);
    }
  }

  /// Adds what means cost at home: outputs are divided, gradients copied and divided.
  void add_divided() {
    sums_.add_outputs(sums_.everywhere(), 2 * outputs_);
    TableSums::add(sums_.everywhere(), Term::gradient_value, 4 * outputs_);
  }

  /// Bags are pooled by the owner of the shard.
  void add_pooled(const Shard& shard, const LookedUp& looked) {
    RankWork &home = sums_.everywhere(), &owner = sums_.owners[shard.rank];
    const bool sparse = transfer_ == RowTransfer::sparse_partials;
    const double own = (sparse ? looked.own.touched_bags : looked.own.bags) * w_;
    TableSums::add(home, Term::route_id, looked.own.ids);
    TableSums::add(home, Term::route_cell, looked.own.bags);
    TableSums::add(owner, Term::route_cell, looked.all.bags);
    TableSums::add(owner, Term::owned_id, looked.all.ids);
    TableSums::add(owner, Term::lookup_block, sums_.features * sums_.ranks());
    TableSums::add(owner, Term::lookup_bag, looked.all.bags);
    TableSums::add(owner, Term::lookup_id, looked.all.ids);
    TableSums::add(owner, Term::lookup_value, looked.all.ids * w_ + own * sums_.ranks());
    sums_.add_lines(owner, Term::lookup_vector_line, own * sums_.ranks() / TableSums::values_of_line);
    if (!sparse) TableSums::add(owner, Term::lookup_mixed_bag, mixed_bags(looked.all));
    if (sparse) TableSums::add(owner, Term::route_touched_bag, looked.own.touched_bags * sums_.ranks());
    sums_.read_rows(owner, looked, looked.all.distinct_rows, columns_);
    TableSums::add_buffer(owner, owned_id_bytes(looked.all.ids));
    sums_.add_held_gradients(owner, looked.all.ids, columns_);
    if (!reduces() && !sends_to_node(shard.rank)) send(home, owner, own);
    sums_.update_shard(shard, looked, looked.all.ids, looked.all.touched_bags);
  }

  /// Adds the work of `own` values to each home, the owner itself included, and back.
  void send(RankWork& home, RankWork& owner, double own) {
    if (!in_place_) sums_.add_outputs(home, own);
    // At home all gradients are copied as one array, past the caches: half the time of pieces.
    TableSums::add(home, Term::gradient_value, (sums_.step.at_home ? 1 : 2) * own);
    sums_.add_lines(home, Term::gradient_line, own / TableSums::values_of_line);
    if (!sums_.step.at_home && !sums_.step.own_stays) {  // what it sends itself
      sums_.add_outputs(owner, 2 * own);
      TableSums::add(owner, Term::gradient_value, 2 * own);
    }
    sums_.add_codec(home, own);
    sums_.add_codec(owner, own * sums_.ranks());
  }

  TableSums& sums_;
  const std::vector<const Shard*>& shards_;
  std::int64_t columns_;
  double w_, outputs_ = 0.0;  ///< values of a rank's vectors
  std::vector<LookedUp> looked_;
  RowTransfer transfer_;
  std::vector<RoundTrip> trips_;
  std::vector<bool> adds_;         ///< of RowTransfer::node_partials, by node
  int node_sums_ = 0, alone_ = 0;  ///< nodes that send sums; owners that send their partials
  bool in_place_;                  ///< vectors are outputs where they arrive
};

/// Adds what the holders of different columns of the same rows exchange: their sums over these.
void add_row_sums(TableSums& sums) {
  const std::int64_t count = exchanged_row_sums(sums.table, sums.placement);
  if (count == 0) return;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<const Shard*>> holders;
  for (const Shard& shard : sums.placement.shards) holders[{shard.rows.begin, shard.rows.end}].push_back(&shard);
  for (const auto& [rows, shards] : holders) {
    const double distinct =
        sums.step.statistics.expected(sums.number, shards.front()->rows, sums.step.global_batch).distinct_rows;
    for (const Shard* from : shards) {
      const auto elsewhere = std::ranges::count_if(shards, [&](const Shard* to) { return to->rank != from->rank; });
      sums.owners[from->rank].row_sums += 8.0 * static_cast<double>(count * elsewhere) * distinct;
    }
  }
}

/// Adds buffers of the lists of hot rows.
void add_hot_rows(TableSums& sums) {
  if (sums.placement.hot_rows == 0) return;
  const RowSet& rows = sums.placement.shards.front().rows;
  const double bags = sums.step.statistics.expected(sums.number, rows, sums.step.samples()).bags;
  const RowTransfer transfer = sums.work.totals.asks_rows > 0 ? RowTransfer::unique_rows : RowTransfer::dense_partials;
  TableSums::add_buffer(sums.everywhere(), hot_row_bytes(transfer, bags, sums.own_ids));
}

}  // namespace

TableWork table_work(const StepContext& step, const MachineModel& machine, std::int64_t t,
                     const TablePlacement& placement) {
  TableSums sums(step, machine, t, placement);
  if (has_replicas(placement)) add_replicas(sums, replicated_rows(placement, sums.table));
  for (const Shard& shard : placement.shards)
    sums.owners[shard.rank].memory += stored_bytes(sums.table, shard.rows.count(), shard.columns());
  if (sums.features > 0.0) {
    for (const auto& [columns, shards] : shards_by_columns(placement)) StripWork(sums, shards).add();
    add_row_sums(sums);
    add_hot_rows(sums);
  }
  return sums.finished();
}

}  // namespace shardmark::placement
