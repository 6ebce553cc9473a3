// SPDX-License-Identifier: Apache-2.0
#include "comm/reduce_scatter.hpp"

#include <fmt/format.h>

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
  ReduceScatter(const Communicator& comm, Exchange& exchange, SentBytes& sent)
      : comm_(comm), exchange_(exchange), sent_(sent) {}

  Addresses lay_out(const ShardLayout& layout, const BagCounts& bags, const VectorCounts& counts) override {
    Addresses addresses = empty_addresses(layout);
    const auto whole = [&](const Slot& slot) {
      return !layout.strips[static_cast<std::size_t>(slot.strip)].row_split();
    };
    route_ = add_vector_route(layout, bags, counts, whole, addresses);
    back_ = route_.inverse();
    counts_.assign(static_cast<std::size_t>(layout.ranks), 0);
    for (int home = 0; home < layout.ranks; ++home) add_reduced(layout, bags, home, addresses);
    for (const Strip& strip : layout.strips) {
      if (!strip.row_split()) continue;
      addresses.packed[static_cast<std::size_t>(strip.slots.front())] = addresses.packed_size;
      addresses.packed_size += bags(layout.rank, strip.feature) * strip.dim();
    }
    return addresses;
  }

  /// A reduction sends at least every other rank's share once, a gather one's own share to every other rank.
  void forward(std::span<const float> owner, std::span<float> packed) override {
    run(exchange_, route_, owner, packed);
    for (std::size_t peer = 0; peer < counts_.size(); ++peer) sent_.add(peer, 4 * counts_[peer]);
    reduce_scatter(comm_, owner.subspan(exchanged(route_.send_total())), counts_,
                   packed.subspan(exchanged(route_.receive_total())));
  }

  void backward(std::span<const float> packed, std::span<float> owner) override {
    run(exchange_, back_, packed, owner);
    const std::int64_t own = counts_[static_cast<std::size_t>(comm_.rank())];
    for (std::size_t peer = 0; peer < counts_.size(); ++peer) sent_.add(peer, 4 * own);
    all_gather_v(comm_, packed.subspan(exchanged(back_.send_total())), counts_,
                 owner.subspan(exchanged(back_.receive_total())));
  }

 private:
  static std::size_t exchanged(std::int64_t elements) { return static_cast<std::size_t>(elements); }

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
  Exchange& exchange_;
  SentBytes& sent_;
  Route route_, back_;
  std::vector<std::int64_t> counts_;
};

}  // namespace

std::unique_ptr<Transfer> make_reduce_scatter(const Communicator& comm, Exchange& exchange, SentBytes& sent) {
  return std::make_unique<ReduceScatter>(comm, exchange, sent);
}

}  // namespace shardmark
