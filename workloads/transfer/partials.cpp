// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/transfer.hpp"
#include "workloads/transfer/vector_route.hpp"

namespace shardmark::workloads {
namespace {

/// Sends the owners' vectors as they are: of every bag, touched or not (HugeCTR's "Reduction" compression strategy), or
/// of the touched ones, as the counts say. Rows that travel one by one do so apart.
class Partials : public Transfer {
 public:
  explicit Partials(const TransferContext& context)
      : rows_(context.exchange, context.wire), own_stays_(context.own_stays) {}

  VectorPlaces lay_out(const ShardLayout& layout, const std::vector<placement::RowTransfer>& modes,
                       const BagCounts& bags, const VectorCounts& counts) override {
    const auto pooled = [&](const Slot& slot) { return modes[slot.strip] != placement::RowTransfer::unique_rows; };
    VectorPlaces places = no_places(layout);
    rows_.lay_out(layout.ranks, add_vector_blocks(layout, bags, counts, pooled, own_stays_, places));
    return places;
  }

  void move(Direction direction, const DeviceArray<float>& from, const DeviceArray<float>& to) override {
    rows_.move(direction, from, to);
  }

 private:
  RowExchange rows_;
  bool own_stays_;
};

}  // namespace

std::unique_ptr<Transfer> make_partials(const TransferContext& context) { return std::make_unique<Partials>(context); }

}  // namespace shardmark::workloads
