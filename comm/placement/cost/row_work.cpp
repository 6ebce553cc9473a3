// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "comm/placement/cost/table_sums.hpp"

namespace shardmark::placement {
namespace {

/// Adds the work of one shard whose rows travel one by one.
class SingleRows {
 public:
  SingleRows(const TableSums& sums, const Shard& shard, const LookedUp& looked, RankWork& home, RankWork& owner)
      : sums_(sums),
        shard_(shard),
        looked_(looked),
        home_(home),
        owner_(owner),
        w_(static_cast<double>(shard.columns())) {
    asked_ = asks_once(sums.packing.dedup) ? looked.own.distinct_rows : looked.own.ids;
  }

  void add_of_ranks() {
    const double held = asked_ * sums_.ranks(), values = asked_ * w_;
    ask();
    answer(held);
    sums_.add_codec(home_, values);
    sums_.add_codec(owner_, held * w_);
    sums_.add_outputs(owner_, 2 * values);  // what it sends itself
    sums_.add_gradients(owner_, 2 * values);
  }

  /// Ranks with the owner's number on their nodes ask it, for what all ranks of their nodes ask them.
  void add_of_nodes(RankWork& rail) {
    const int per_node = sums_.step.ranks_per_node, nodes = sums_.step.ranks / per_node;
    const double of_node =
        sums_.step.statistics.expected(sums_.number, shard_.rows, sums_.step.samples() * per_node).distinct_rows;
    ask();
    answer(nodes * of_node);
    hand_on(rail, per_node, of_node);
    const WireTypes& wire = sums_.packing.wire;
    owner_.requested.rail += request_bytes(of_node);
    owner_.vectors.rail += of_node * static_cast<double>(row_bytes(wire.forward, shard_.columns()));
    owner_.gradients.rail += of_node * static_cast<double>(row_bytes(wire.backward, shard_.columns()));
    sums_.add_codec(owner_, nodes * of_node * w_);
  }

 private:
  double request_bytes(double rows) const { return 8 + static_cast<double>(sums_.packing.row_id_bytes) * rows; }

  /// The home's part: it sorts its ids, puts the rows that come together, pools them, and adds up their gradients.
  void ask() {
    sums_.route_keys(home_, shard_, looked_, 1);
    TableSums::add(home_, Term::sorted_id, looked_.own.ids);
    home_.sorted_keys += static_cast<double>(shard_.rows.count());
    sums_.add_outputs(home_, 2 * asked_ * w_);
    TableSums::add(home_, Term::pooled_value, looked_.own.ids * w_);
    TableSums::add(home_, Term::summed_value, (looked_.own.ids + asked_) * w_);
    TableSums::add(home_, Term::summed_id, looked_.own.ids);
    TableSums::add_buffer(home_, asker_bytes(sums_.packing.wire, sums_.packing.dedup, shard_.columns(), looked_.own));
  }

  /// Adds the owner's part, for `held` requested rows.
  void answer(double held) {
    const double distinct = looked_.all.distinct_rows;
    TableSums::add(owner_, Term::owned_id, held);
    TableSums::add(owner_, Term::lookup_bag, held);
    TableSums::add(owner_, Term::lookup_id, held);
    TableSums::add(owner_, Term::lookup_value, 2 * held * w_);
    sums_.add_lines(owner_, Term::lookup_vector_line, held * w_ / TableSums::values_of_line);
    if (reads_once(sums_.packing.dedup)) {
      TableSums::add(owner_, Term::sorted_id, held);
      TableSums::add(owner_, Term::lookup_id, distinct);
      TableSums::add(owner_, Term::lookup_value, 2 * distinct * w_);
    }
    LookedUp read = looked_;
    read.far.lookup = std::min(looked_.far.lookup, held);
    sums_.find_keys(owner_, shard_, looked_, held);
    sums_.read_rows(owner_, read, distinct, shard_.columns());
    TableSums::add_buffer(owner_,
                          holder_bytes(sums_.packing.wire, sums_.packing.dedup, shard_.columns(), held, distinct));
    TableSums::add_buffer(
        owner_, bytes_of_vectors({.held = 4 * held * w_}, sums_.pools, RowTransfer::unique_rows, sums_.packing.wire));
    sums_.add_held_gradients(owner_, held, shard_.columns());
    sums_.update_rows(owner_, looked_, {held, held, held, shard_.rows.count(), shard_.columns()});
  }

  /// Adds the part of a rank between the homes of its node and the owner.
  void hand_on(RankWork& rail, int per_node, double of_node) {
    const double handed_on = per_node * asked_;
    rail.requested.node += request_bytes(asked_);
    rail.vectors.node += 4 * w_ * asked_;
    rail.gradients.node += 4 * w_ * asked_;
    TableSums::add(rail, Term::sorted_id, handed_on);
    TableSums::add(rail, Term::owned_id, handed_on);
    sums_.add_outputs(rail, 2 * (handed_on + asked_) * w_);
    TableSums::add(rail, Term::summed_value, (handed_on + of_node) * w_);
    sums_.add_codec(rail, of_node * w_);
    TableSums::add_buffer(rail, relay_bytes(shard_.columns(), handed_on));
  }

  const TableSums& sums_;
  const Shard& shard_;
  const LookedUp& looked_;
  RankWork &home_, &owner_;
  double w_, asked_ = 0.0;
};

}  // namespace

void add_single_rows(const TableSums& sums, const Shard& shard, const LookedUp& looked, RankWork& home, RankWork& owner,
                     RankWork& rail) {
  SingleRows rows(sums, shard, looked, home, owner);
  if (sums.packing.dedup == Dedup::node) return rows.add_of_nodes(rail);
  rows.add_of_ranks();
}

}  // namespace shardmark::placement
