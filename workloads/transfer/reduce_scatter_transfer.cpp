// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "workloads/transfer/transfer.hpp"
#include "workloads/transfer/vector_route.hpp"

namespace shardmark::workloads {
namespace {

/// Returns the reduction: an exchange that has one of its own takes the place of MPI's.
std::string_view reduction_of(const TransferContext& context) {
  const bool library = context.transfer == placement::RowTransfer::reduce_scatter;
  return library && !context.reduction.empty() ? context.reduction : placement::choice_of(context.transfer).reduction;
}

/// Partial sums of row-split strips are added on their way home (TorchRec's row_wise, distributed-embeddings' row
/// slices); all other vectors go by the exchange. In both buffers the exchanged part comes first, then the reduced
/// part: at the owner for each home rank, at home once, the vectors of every row-split strip in order. A rank that
/// holds nothing of a strip adds zeros; none holds more than one shard of it (require_supported).
class ReduceScatter : public Transfer {
 public:
  explicit ReduceScatter(const TransferContext& context)
      : progress_(context.progress),
        sent_(context.sent),
        reduction_(choice_named(comm::reductions, "reduction", reduction_of(context)).make(context.comm)),
        whole_(context.exchange, context.wire),
        own_stays_(context.own_stays) {
    if (context.exchange.follows()) reduction_->follow(kernel_stream());
  }

  VectorPlaces lay_out(const ShardLayout& layout, const std::vector<placement::RowTransfer>& modes,
                       const BagCounts& bags, const VectorCounts& counts) override {
    VectorPlaces places = no_places(layout);
    const auto whole = [&](const Slot& slot) { return !placement::adds_on_the_way(modes[slot.strip]); };
    whole_.lay_out(layout.ranks, add_vector_blocks(layout, bags, counts, whole, own_stays_, places));
    owner_begin_ = places.owner_size;
    home_begin_ = places.packed_size;
    counts_.assign(layout.ranks, 0);
    for (int home = 0; home < layout.ranks; ++home) add_reduced(layout, bags, home, places);
    reduction_->lay_out(counts_);
    for (const Strip& strip : layout.strips) {
      if (!strip.row_split()) continue;
      places.packed[strip.slots.front()] = places.packed_size;
      places.packed_size += bags(layout.rank, strip.feature) * strip.dim();
    }
    return places;
  }

  void move(Direction direction, const DeviceArray<float>& from, const DeviceArray<float>& to) override {
    whole_.move(direction, from, to);
    run_reduction(*reduction_, progress_, [&] {
      if (direction == Direction::forward)
        reduction_->reduce_scatter(behind(from, owner_begin_), behind(to, home_begin_));
      else
        reduction_->all_gather(behind(from, home_begin_), behind(to, owner_begin_));
    });
    for (std::size_t peer = 0; peer < counts_.size(); ++peer) sent_.add(peer, reduction_->sent()[peer]);
  }

 private:
  static std::span<float> behind(const DeviceArray<float>& array, std::int64_t elements) {
    return std::span(array.data(), array.extent(0)).subspan(elements);
  }

  /// Appends the vectors of all row-split strips for one home rank to the owner's buffer.
  void add_reduced(const ShardLayout& layout, const BagCounts& bags, int home, VectorPlaces& places) {
    const auto own = layout.own_slots();
    for (std::int64_t s = 0; s < std::ssize(layout.strips); ++s) {
      const Strip& strip = layout.strips[s];
      if (!strip.row_split()) continue;
      const std::int64_t begin = places.owner_size;
      places.owner_size += bags(home, strip.feature) * strip.dim();
      bool held = false;
      for (std::size_t k = 0; k < own.size(); ++k) {
        if (own[k].strip != s) continue;
        places.owner[static_cast<std::size_t>(home) * own.size() + k] = begin;
        held = true;
      }
      if (!held) places.zeros.emplace_back(begin, places.owner_size);
      counts_[home] += places.owner_size - begin;
    }
  }

  comm::ProgressThread& progress_;
  comm::SentBytes& sent_;
  std::unique_ptr<comm::Reduction> reduction_;
  RowExchange whole_;
  bool own_stays_;
  std::int64_t owner_begin_ = 0, home_begin_ = 0;  ///< of the reduced part
  std::vector<std::int64_t> counts_;
};

}  // namespace

std::unique_ptr<Transfer> make_reduce_scatter(const TransferContext& context) {
  return std::make_unique<ReduceScatter>(context);
}

}  // namespace shardmark::workloads
