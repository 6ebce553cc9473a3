// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/cost/strip_work.hpp"

#include <algorithm>
#include <unordered_map>

namespace shardmark::placement {
namespace {

/// Adds the work of the shards of one range of columns, which together hold every row that is not hot once.
class StripWork {
 public:
  StripWork(const TableSums& sums, const std::vector<const Shard*>& shards, RowTransfer transfer,
            const SumSenders& senders)
      : sums_(sums),
        shards_(shards),
        columns_(shards.front()->columns()),
        w_(static_cast<double>(columns_)),
        transfer_(transfer),
        senders_(senders),
        owners_(shards) {
    HomeLookups own{.home = 0, .ranks = sums.step.ranks, .columns = columns_, .holders = {}};
    for (const Shard* shard : shards) {
      looked_.push_back(sums.looked_up(shard->rows, 1.0));
      own.holders.push_back({shard->rank, looked_.back().own});
    }
    outputs_ = looked_.front().own.bags * w_;
    trips_ = choice_of(adds_on_nodes() ? RowTransfer::dense_partials : transfer).bytes(own, sums.packing);
    const bool one = senders.nodes == 1 ? senders.alone == 0 : shards.size() == 1;
    in_place_ = one && columns_ == sums.table.dim && sums.placement.hot_rows == 0;
    parts_.alone.resize(owners_.ranks.size());
    if (rows() && sums.packing.dedup == Dedup::node) parts_.rails.resize(owners_.ranks.size());
  }

  StripParts<RankWork> finished() {
    (rows() ? parts_.totals.asks_rows : parts_.totals.pools) = 1;
    if (rows())
      TableSums::add(home(), Term::pooled_value, outputs_);
    else if (reduces())
      add_reduced();
    else if (!in_place_)
      sums_.add_outputs(home(), outputs_);
    add_divided();
    for (std::size_t s = 0; s < shards_.size(); ++s) {
      if (parts_.rails.empty()) owner(s).requested.all += trips_[s].requested;
      if (!rows()) add_pooled(s);
    }
    if (adds_on_nodes()) parts_.in_node = parts_.alone;
    for (std::size_t s = 0; s < shards_.size(); ++s) {
      if (parts_.rails.empty() && !reduces()) add_vector_bytes(s);
      if (rows())
        add_single_rows(sums_, *shards_[s], looked_[s], home(), owner(s),
                        parts_.rails.empty() ? no_rail_ : parts_.rails[owners_.of_shard[s]]);
      else if (!reduces())
        send(s);
    }
    const double own_sums = adds_on_nodes() ? senders_.nodes + senders_.alone : 0;
    add_received(own_sums, outputs_);
    if (adds_on_nodes())
      for (const bool last : {false, true}) add_adder(last);
    add_vectors();
    if (sums_.placement.hot_rows > 0 && shards_.front()->column_begin == 0) add_hot_rows();
    return std::move(parts_);
  }

 private:
  /// A processor guesses well which bags of a shard are empty where almost all are, or almost none.
  static double mixed_bags(const ShardCounts& counts) {
    return std::min(counts.touched_bags, counts.bags - counts.touched_bags);
  }

  bool rows() const { return transfer_ == RowTransfer::unique_rows; }
  bool reduces() const { return adds_on_the_way(transfer_); }
  bool adds_on_nodes() const { return transfer_ == RowTransfer::node_partials; }
  bool sparse() const { return transfer_ == RowTransfer::sparse_partials; }
  /// Returns the values of one home's partial sums of a shard.
  double own_sums(std::size_t s) const { return (sparse() ? looked_[s].own.touched_bags : looked_[s].own.bags) * w_; }
  RankWork& home() { return parts_.everywhere; }
  RankWork& owner(std::size_t s) { return parts_.alone[owners_.of_shard[s]]; }

  /// Adds a rank of a node for the sums of all homes: it adds those of the homes that have its number on their nodes,
  /// sends them there along its rail, and hands the gradients that come back to its neighbours.
  void add_adder(bool last) {
    const Nodes& nodes = sums_.packing.nodes;
    if (nodes.count() == 0) return;
    const auto homes = static_cast<double>(nodes.count()),
               others = static_cast<double>(nodes.ranks_of(last ? nodes.count() - 1 : 0).size() - 1);
    RankWork& adder = parts_.adders[last ? 1 : 0];
    adder.vectors.node += homes * 4 * outputs_;
    adder.gradients.node += homes * 4 * outputs_;
    adder.vectors.rail += trips_.front().vectors;
    adder.gradients.rail += trips_.front().gradients;
    sums_.add_outputs(adder, 3 * homes * others * outputs_);
    sums_.add_gradients(adder, 2 * homes * others * outputs_);
    sums_.add_codec(adder, homes * outputs_);
  }

  /// Adds the vectors of a round trip. Where partial sums are added on their way, they are the same for all ranks.
  void add_vector_bytes(std::size_t s) {
    owner(s).vectors.all += trips_[s].vectors;
    owner(s).gradients.all += trips_[s].gradients;
  }

  /// Adds the sums that are made on the way: every rank has a term of them, and adds those of the others.
  void add_reduced() {
    parts_.totals.reduced += 4 * outputs_;
    sums_.add_outputs(home(), 3 * outputs_ * (sums_.ranks() - 1));
    sums_.add_gradients(home(), 2 * outputs_);
    if (columns_ != sums_.table.dim || sums_.placement.hot_rows > 0) sums_.add_outputs(home(), 2 * outputs_);
  }

  /// Adds buffers of vectors: of outputs, of what travels of them, and of hot rows beside them.
  void add_vectors() {
    const auto bytes_of = [&](const VectorBytes& vectors) {
      return bytes_of_vectors(vectors, sums_.pools, transfer_, sums_.packing.wire);
    };
    VectorBytes at_home{.outputs = 4 * outputs_, .behind = in_place_ ? 0.0 : 4 * outputs_};
    if (sums_.placement.hot_rows > 0) at_home.own_partials = (rows() ? 2 : 1) * at_home.outputs;
    if (reduces()) {
      at_home.packed = at_home.outputs;
      at_home.reduced = at_home.owner = sums_.ranks() * at_home.outputs;
    } else if (adds_on_nodes()) {
      at_home.packed = (senders_.nodes + senders_.alone) * at_home.outputs;
    } else if (!rows()) {
      for (std::size_t s = 0; s < shards_.size(); ++s) at_home.packed += 4 * own_sums(s);
    }
    const double bytes = bytes_of(at_home);
    TableSums::add_buffer(home(), bytes);
    if (rows() || reduces()) return;
    std::vector<double> sent(parts_.alone.size());
    for (std::size_t s = 0; s < shards_.size(); ++s)
      sent[owners_.of_shard[s]] += 4 * (sparse() ? looked_[s].all.touched_bags : looked_[s].all.bags) * w_;
    for (std::size_t k = 0; k < sent.size(); ++k) {
      VectorBytes alone = at_home;
      alone.owner = sent[k];
      TableSums::add_buffer(parts_.alone[k], bytes_of(alone) - bytes);
    }
    if (!adds_on_nodes()) return;
    VectorBytes adder = at_home;
    adder.owner = sums_.ranks() * at_home.outputs;
    adder.packed += sums_.packing.nodes.count() * at_home.outputs;  // the sums that it makes
    for (RankWork& of_node : parts_.adders) TableSums::add_buffer(of_node, bytes_of(adder) - bytes);
  }

  /// Adds buffers of the lists of hot rows, and that every id is one of theirs or of another row.
  void add_hot_rows() {
    TableSums::add(home(), Term::route_split_id, sums_.own_ids);
    const RowTransfer travelling = rows() ? RowTransfer::unique_rows : RowTransfer::dense_partials;
    TableSums::add_buffer(home(), hot_row_bytes(travelling, looked_.front().own.bags, sums_.own_ids));
  }

  /// Adds what means cost at home.
  void add_divided() {
    sums_.add_outputs(home(), 2 * sums_.divided * outputs_);
    sums_.add_divided_gradients(home(), outputs_);
  }

  /// Bags are pooled by the owner of the shard.
  void add_pooled(std::size_t s) {
    const LookedUp& looked = looked_[s];
    RankWork& to = owner(s);
    const double own = own_sums(s);
    if (shards_.size() > 1 && sums_.placement.hot_rows == 0 && !storage_of(sums_.table).comes_and_goes)
      TableSums::add(home(), Term::route_split_id, looked.own.ids);
    sums_.route_keys(home(), *shards_[s], looked, 2);  // counted, then put where they go
    TableSums::add(home(), Term::route_cell, looked.own.bags);
    TableSums::add(to, Term::route_cell, looked.all.bags);
    TableSums::add(to, Term::owned_id, looked.all.ids);
    TableSums::add(to, Term::lookup_bag, looked.all.bags);
    TableSums::add(to, Term::lookup_id, looked.all.ids);
    TableSums::add(to, Term::lookup_value, looked.all.ids * w_ + own * sums_.ranks());
    sums_.add_lines(to, Term::lookup_vector_line, own * sums_.ranks() / TableSums::values_of_line);
    if (!sparse()) TableSums::add(to, Term::lookup_mixed_bag, mixed_bags(looked.all));
    if (sparse()) TableSums::add(to, Term::route_touched_bag, looked.own.touched_bags * sums_.ranks());
    sums_.find_keys(to, *shards_[s], looked, looked.all.ids);
    sums_.read_rows(to, looked, looked.all.distinct_rows, columns_);
    TableSums::add_buffer(to, owned_id_bytes(looked.all.ids));
    sums_.add_held_gradients(to, looked.all.ids, columns_);
    sums_.update_rows(to, looked,
                      {looked.all.ids, looked.all.bags, looked.all.touched_bags, shards_[s]->rows.count(), columns_});
  }

  /// Adds the work of the owner of partial sums that it sends to each home, itself included, and back.
  void send(std::size_t s) {
    const double own = own_sums(s);
    if (!adds_on_nodes()) add_received(1, own);
    if (!sums_.step.at_home && !sums_.step.own_stays) {  // what it sends itself
      sums_.add_outputs(owner(s), 2 * own);
      sums_.add_gradients(owner(s), 2 * own);
    }
    sums_.add_codec(owner(s), own * sums_.ranks());
  }

  /// Adds the work of a home that receives so many partial sums of that many values, and sends their gradients.
  void add_received(double count, double values) {
    if (count == 0.0) return;
    const double all = count * values;
    if (!in_place_) sums_.add_outputs(home(), all);
    // At home all gradients are copied as one array: half the time of pieces.
    sums_.add_gradients(home(), (sums_.step.at_home ? 1 : 2) * all);
    sums_.add_codec(home(), all);
  }

  const TableSums& sums_;
  const std::vector<const Shard*>& shards_;
  std::int64_t columns_;
  double w_, outputs_ = 0.0;  ///< values of a rank's vectors
  RowTransfer transfer_;
  SumSenders senders_;
  StripOwners owners_;
  std::vector<LookedUp> looked_;
  std::vector<RoundTrip> trips_;
  bool in_place_;  ///< vectors are outputs where they arrive
  StripParts<RankWork> parts_;
  RankWork no_rail_;
};

}  // namespace

StripOwners::StripOwners(const std::vector<const Shard*>& shards) {
  std::unordered_map<int, std::size_t> known;  // of thousands of owners none is looked for among the others
  for (const Shard* shard : shards) {
    const auto [owner, is_new] = known.emplace(shard->rank, ranks.size());
    if (is_new) ranks.push_back(shard->rank);
    of_shard.push_back(owner->second);
  }
}

StripParts<RankWork> strip_parts(const TableSums& sums, const std::vector<const Shard*>& shards, RowTransfer transfer,
                                 const SumSenders& senders) {
  return StripWork(sums, shards, transfer, senders).finished();
}

SumSenders senders_of(const Nodes& nodes, std::span<const int> shard_ranks, const std::vector<bool>& adds) {
  const auto alone = [&](int rank) { return adds.empty() || !adds[static_cast<std::size_t>(nodes.of(rank))]; };
  return {static_cast<int>(std::ranges::count(adds, true)),
          static_cast<int>(std::ranges::count_if(shard_ranks, alone))};
}

}  // namespace shardmark::placement
