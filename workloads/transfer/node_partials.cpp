// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "comm/placement/traffic/nodes.hpp"
#include "workloads/transfer/transfer.hpp"

namespace shardmark::workloads {
namespace {

/// Makes the reduction between the ranks of a node: that of an exchange that has one of its own, else loads and stores,
/// or messages where ranks share no memory. Collective.
std::unique_ptr<comm::Reduction> reduction_in_node(const TransferContext& context, const comm::Communicator& node) {
  const auto named = [](std::string_view name) { return choice_named(comm::reductions, "reduction", name); };
  if (!context.reduction.empty()) return named(context.reduction).make(node);
  const comm::ReductionChoice by_loads = named("node_shared");
  return (by_loads.unusable(node).empty() ? by_loads : named("pairwise")).make(node);
}

/// The ranks of a node add their partial sums of row-split strips before these leave it. Of every node the rank with
/// the home's number there, its adder, gets the partial sums of its neighbours and sends the home one sum per bag; the
/// gradient comes back to the adder once, and its neighbours read it there. What only one rank of a node has, and all
/// other vectors, owners send themselves. Inside the node all is fp32, so that each vector is rounded to a narrow wire
/// type once in each direction.
///   Owner's buffer: what owners send themselves, then the partial sums by adder, home and strip.
///   Home's buffer: what owners sent, then the sums of the nodes by adder and strip, then the sums that this rank has
///   added, by home and strip; its own ones last, and there to stay, where nothing rounds them.
class NodePartials : public Transfer {
 public:
  explicit NodePartials(const TransferContext& context)
      : rank_(context.comm.rank()),
        node_(context.comm.node_of(rank_)),
        nodes_(context.comm.node_of()),
        node_comm_(comm::ranks_of_node(context.comm)),
        progress_(context.progress),
        sent_(context.sent),
        reduction_(reduction_in_node(context, node_comm_)),
        alone_(context.exchange, context.wire),
        sums_(context.exchange, context.wire),
        own_stays_(context.own_stays) {
    if (context.exchange.follows()) reduction_->follow(kernel_stream());
  }

  VectorPlaces lay_out(const ShardLayout& layout, const std::vector<placement::RowTransfer>& modes,
                       const BagCounts& bags, const VectorCounts& counts) override {
    find_added(layout, modes);
    VectorPlaces places = no_places(layout);
    const auto alone = [&](const Slot& slot) {
      return modes[slot.strip] != placement::RowTransfer::unique_rows && !added_[slot.strip][nodes_.of(slot.rank)];
    };
    alone_.lay_out(layout.ranks, add_vector_blocks(layout, bags, counts, alone, own_stays_, places));
    place_partials(layout, bags, places);
    sums_.lay_out(layout.ranks, place_sums(layout, bags, places));
    return places;
  }

  void move(Direction direction, const DeviceArray<float>& from, const DeviceArray<float>& to) override {
    alone_.move(direction, from, to);
    const bool forward = direction == Direction::forward;
    const DeviceArray<float>&owner = forward ? from : to, &home = forward ? to : from;
    const auto partials = behind(owner, partials_begin_), arrived = behind(home, sums_begin_),
               added = behind(home, added_begin_);
    if (!forward) sums_.move(direction, arrived, added);
    run_reduction(*reduction_, progress_, [&] {
      forward ? reduction_->reduce_scatter(span_of(partials), span_of(added))
              : reduction_->all_gather(span_of(added), span_of(partials));
    });
    const std::vector<int>& ranks = nodes_.ranks_of(node_);
    for (std::size_t k = 0; k < ranks.size(); ++k) sent_.add(ranks[k], reduction_->sent()[k]);
    if (forward) sums_.move(direction, added, arrived);
  }

 private:
  static DeviceArray<float> behind(const DeviceArray<float>& array, std::int64_t begin) {
    return part(array, begin, static_cast<std::int64_t>(array.extent(0)));
  }
  static std::span<float> span_of(const DeviceArray<float>& array) { return {array.data(), array.extent(0)}; }

  /// Finds by strip and node whether the node adds.
  void find_added(const ShardLayout& layout, const std::vector<placement::RowTransfer>& modes) {
    added_.clear();
    for (std::size_t s = 0; s < layout.strips.size(); ++s) {
      std::vector<int> holders;
      if (modes[s] == placement::RowTransfer::node_partials)
        for (const std::int64_t slot : layout.strips[s].slots) holders.push_back(layout.slots[slot].rank);
      added_.push_back(placement::nodes_that_add(nodes_, holders));
    }
  }

  int adder(int node, int home) const { return nodes_.counterpart(node, home); }

  /// Returns the homes whose sums a rank adds: its own last, where its sums stay.
  std::vector<int> homes_of(int rank, int ranks) const {
    std::vector<int> homes;
    for (int home = 0; home < ranks; ++home)
      if (adder(nodes_.of(rank), home) == rank && !(own_stays_ && home == rank)) homes.push_back(home);
    if (own_stays_) homes.push_back(rank);
    return homes;
  }

  /// Calls body(strip, elements) for the strips that a node adds.
  template <class Body>
  void each_added(const ShardLayout& layout, int node, const Body& body) const {
    for (std::size_t s = 0; s < added_.size(); ++s)
      if (added_[s][node]) body(s, layout.strips[s]);
  }

  /// Appends the partial sums of the strips that this node adds to the owner's buffer, zeros where this rank has none.
  void place_partials(const ShardLayout& layout, const BagCounts& bags, VectorPlaces& places) {
    partials_begin_ = places.owner_size;
    const auto own = layout.own_slots();
    std::vector<std::int64_t> own_slot(layout.strips.size(), -1);
    for (std::size_t k = 0; k < own.size(); ++k) own_slot[own[k].strip] = static_cast<std::int64_t>(k);
    std::vector<std::int64_t> counts;
    for (const int rank : nodes_.ranks_of(node_)) {
      const std::int64_t before = places.owner_size;
      for (const int home : homes_of(rank, layout.ranks))
        each_added(layout, node_, [&](std::size_t s, const Strip& strip) {
          const std::int64_t begin = places.owner_size;
          places.owner_size += bags(home, strip.feature) * strip.dim();
          if (own_slot[s] < 0)
            places.zeros.emplace_back(begin, places.owner_size);
          else
            places.owner[static_cast<std::size_t>(home) * own.size() + static_cast<std::size_t>(own_slot[s])] = begin;
        });
      counts.push_back(places.owner_size - before);
    }
    reduction_->lay_out(counts);
  }

  /// Appends the sums that come home, and those that this rank adds, to the home's buffer.
  RowBlocks place_sums(const ShardLayout& layout, const BagCounts& bags, VectorPlaces& places) {
    RowBlocks blocks;
    const auto stays = [&](int rank) { return own_stays_ && rank == rank_; };
    const auto first_slot = [&](const Strip& strip, int node) {
      return *std::ranges::find_if(strip.slots, [&](auto slot) { return nodes_.of(layout.slots[slot].rank) == node; });
    };
    sums_begin_ = places.packed_size;
    for (int rank = 0; rank < layout.ranks; ++rank) {
      const int node = nodes_.of(rank);
      if (adder(node, rank_) != rank || stays(rank)) continue;
      each_added(layout, node, [&](std::size_t, const Strip& strip) {
        const std::int64_t rows = bags(rank_, strip.feature);
        blocks.home.push_back({rank, rows, strip.dim()});
        places.packed[first_slot(strip, node)] = places.packed_size;
        places.packed_size += rows * strip.dim();
      });
    }
    added_begin_ = places.packed_size;
    for (const int home : homes_of(rank_, layout.ranks))
      each_added(layout, node_, [&](std::size_t, const Strip& strip) {
        const std::int64_t rows = bags(home, strip.feature);
        if (stays(home))
          places.packed[first_slot(strip, node_)] = places.packed_size;
        else
          blocks.owner.push_back({home, rows, strip.dim()});
        places.packed_size += rows * strip.dim();
      });
    bound(layout, bags, blocks);
    return blocks;
  }

  /// Bounds what any rank sends and receives.
  void bound(const ShardLayout& layout, const BagCounts& bags, RowBlocks& blocks) const {
    struct Total {
      std::int64_t rows = 0, elements = 0;
    };
    std::map<std::pair<bool, int>, Total> totals;  // by end and rank
    for (int node = 0; node < nodes_.count(); ++node)
      for (int home = 0; home < layout.ranks; ++home) {
        if (own_stays_ && adder(node, home) == home) continue;
        each_added(layout, node, [&](std::size_t, const Strip& strip) {
          const std::int64_t rows = bags(home, strip.feature);
          for (Total* total : {&totals[{true, home}], &totals[{false, adder(node, home)}]}) {
            total->rows += rows;
            total->elements += rows * strip.dim();
          }
        });
      }
    for (const auto& [end, total] : totals) {
      blocks.row_bound = std::max(blocks.row_bound, total.rows);
      blocks.element_bound = std::max(blocks.element_bound, total.elements);
    }
  }

  int rank_, node_;
  placement::Nodes nodes_;
  comm::Communicator node_comm_;
  comm::ProgressThread& progress_;
  comm::SentBytes& sent_;
  std::unique_ptr<comm::Reduction> reduction_;
  RowExchange alone_, sums_;
  bool own_stays_;
  std::vector<std::vector<bool>> added_;           ///< [strips][nodes]
  std::int64_t partials_begin_ = 0;                ///< in the owner's buffer
  std::int64_t sums_begin_ = 0, added_begin_ = 0;  ///< in the home's
};

}  // namespace

std::unique_ptr<Transfer> make_node_partials(const TransferContext& context) {
  return std::make_unique<NodePartials>(context);
}

}  // namespace shardmark::workloads
