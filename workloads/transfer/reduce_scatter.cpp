// SPDX-License-Identifier: Apache-2.0
#include "comm/reduce_scatter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/transfer/transfer.hpp"
#include "workloads/transfer/vector_route.hpp"

namespace shardmark {
namespace {

/// Partial sums of row-split strips are added on their way home (TorchRec's row_wise, distributed-embeddings' row
/// slices); all other vectors go by the exchange. In both buffers the exchanged part comes first, then the reduced
/// part: at the owner for each home rank, at home once, the vectors of every row-split strip in order. A rank that
/// holds nothing of a strip adds zeros.
class ReduceScatter : public Transfer {
 public:
  explicit ReduceScatter(const TransferContext& context)
      : comm_(context.comm),
        lane_(context.lane),
        wire_(context.wire),
        sent_(context.sent),
        whole_(context.exchange, context.wire) {}

  Addresses lay_out(const ShardLayout& layout, const std::vector<RowTransfer>& modes, const BagCounts& bags,
                    const VectorCounts& counts) override {
    require_fp32(layout);
    Addresses addresses = empty_addresses(layout);
    const auto whole = [&](const Slot& slot) {
      return modes[static_cast<std::size_t>(slot.strip)] != RowTransfer::reduce_scatter;
    };
    whole_.lay_out(layout.ranks, add_vector_blocks(layout, bags, counts, whole, addresses));
    counts_.assign(static_cast<std::size_t>(layout.ranks), 0);
    for (int home = 0; home < layout.ranks; ++home) add_reduced(layout, bags, home, addresses);
    for (const Strip& strip : layout.strips) {
      if (!strip.row_split()) continue;
      addresses.packed[static_cast<std::size_t>(strip.slots.front())] = addresses.packed_size;
      addresses.packed_size += bags(layout.rank, strip.feature) * strip.dim();
    }
    return addresses;
  }

  void pack(Direction direction, const DeviceArray<float>& from) override { whole_.pack(direction, from); }

  /// A reduction sends at least every other rank's share once, a gather one's own share to every other rank.
  void move(Direction direction, const DeviceArray<float>& from, const DeviceArray<float>& to) override {
    whole_.move(direction, from, to);
    const bool forward = direction == Direction::forward;
    const std::int64_t own = counts_[static_cast<std::size_t>(comm_.rank())];
    for (std::size_t peer = 0; peer < counts_.size(); ++peer) sent_.add(peer, 4 * (forward ? counts_[peer] : own));
    lane_.run([&] {
      if (forward)
        reduce_scatter(comm_, behind(from, whole_.owner_elements()), counts_, behind(to, whole_.home_elements()));
      else
        all_gather_v<float>(comm_, behind(from, whole_.home_elements()), counts_, behind(to, whole_.owner_elements()));
    });
  }

  void unpack(Direction direction, const DeviceArray<float>& to) override { whole_.unpack(direction, to); }

 private:
  static std::span<float> behind(const DeviceArray<float>& array, std::int64_t elements) {
    return std::span(array.data(), array.extent(0)).subspan(static_cast<std::size_t>(elements));
  }

  /// MPI adds floats, and no narrower type that we send.
  void require_fp32(const ShardLayout& layout) const {
    for (const Direction direction : {Direction::forward, Direction::backward})
      if (wire_.type(direction) != ValueType::fp32 && std::ranges::any_of(layout.strips, &Strip::row_split))
        throw InputError(
            fmt::format("transfer reduce_scatter: MPI adds the partial sums of row-split tables in fp32, not in wire "
                        "type {}; use --wire fp32, dense_partials or a plan that splits no rows",
                        name_of(wire_.type(direction))));
  }

  /// Appends the vectors of all row-split strips for one home rank to the owner's buffer.
  void add_reduced(const ShardLayout& layout, const BagCounts& bags, int home, Addresses& addresses) {
    const auto own = layout.own_slots();
    for (std::int64_t s = 0; s < std::ssize(layout.strips); ++s) {
      const Strip& strip = layout.strips[static_cast<std::size_t>(s)];
      if (!strip.row_split()) continue;
      const std::int64_t begin = addresses.owner_size;
      addresses.owner_size += bags(home, strip.feature) * strip.dim();
      bool held = false;
      for (std::size_t k = 0; k < own.size(); ++k) {
        if (own[k].strip != s) continue;
        if (held)
          throw InputError(
              fmt::format("transfer reduce_scatter: rank {} holds two row shards of the same columns of "
                          "feature {}; use dense_partials or another plan",
                          layout.rank, strip.feature));
        addresses.owner[static_cast<std::size_t>(home) * own.size() + k] = begin;
        held = true;
      }
      if (!held) addresses.zeros.emplace_back(begin, addresses.owner_size);
      counts_[static_cast<std::size_t>(home)] += addresses.owner_size - begin;
    }
  }

  const Communicator& comm_;
  Lane& lane_;
  Wire& wire_;
  SentBytes& sent_;
  RowExchange whole_;
  std::vector<std::int64_t> counts_;
};

}  // namespace

std::unique_ptr<Transfer> make_reduce_scatter(const TransferContext& context) {
  return std::make_unique<ReduceScatter>(context);
}

}  // namespace shardmark
