// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/node_vectors.hpp"

#include <algorithm>

#include "kernels/huge_pages.hpp"
#include "workloads/transfer/vector_route.hpp"

namespace shardmark::workloads {
namespace {

constexpr std::int64_t whole_lines(std::int64_t floats) {
  constexpr std::int64_t of_pair = kernels::line_pair / std::int64_t{sizeof(float)};
  return (floats + of_pair - 1) / of_pair * of_pair;
}

/// Gives places alone: the lookup writes and the update reads, with a barrier of the ranks between the two.
class VectorsAtHome : public Transfer {
 public:
  VectorsAtHome(const TransferContext& context, NodeVectors& vectors)
      : progress_(context.progress), sent_(context.sent), vectors_(vectors) {}

  VectorPlaces lay_out(const ShardLayout& layout, const std::vector<placement::RowTransfer>& /*modes*/,
                       const BagCounts& bags, const VectorCounts& /*counts*/) override {
    VectorPlaces places = no_places(layout);
    places.at_home = true;
    const auto ranks = static_cast<std::size_t>(layout.ranks), own_slots = layout.own_slots().size();
    std::vector<std::int64_t> packed(ranks);
    for (auto& bytes : bytes_) bytes.assign(ranks, 0);
    for (std::size_t s = 0; s < layout.slots.size(); ++s) {
      const Slot& slot = layout.slots[s];
      for (std::size_t home = 0; home < ranks; ++home) {
        const std::int64_t elements = bags(static_cast<int>(home), slot.feature) * layout.dim_of(slot);
        const auto own = static_cast<std::int64_t>(s) - layout.first_slot[layout.rank];
        const bool is_home = home == static_cast<std::size_t>(layout.rank);
        if (slot.rank == layout.rank) {
          places.owner[home * own_slots + static_cast<std::size_t>(own)] = packed[home];
          bytes_[number(Direction::forward)][home] += elements * std::int64_t{sizeof(float)};
        }
        if (is_home) {
          places.packed[s] = packed[home];
          bytes_[number(Direction::backward)][slot.rank] += elements * std::int64_t{sizeof(float)};
        }
        packed[home] += elements;
      }
    }
    places.packed_size = packed[layout.rank];
    return places;
  }

  void move(Direction direction, const DeviceArray<float>&, const DeviceArray<float>&) override {
    Execution().fence("shardmark: what others read at home is written");
    progress_.run([&] { vectors_.node_barrier(); });
    const auto& bytes = bytes_[number(direction)];
    for (std::size_t peer = 0; peer < bytes.size(); ++peer) sent_.add(static_cast<std::int64_t>(peer), bytes[peer]);
  }

 private:
  comm::ProgressThread& progress_;
  comm::SentBytes& sent_;
  NodeVectors& vectors_;
  std::array<std::vector<std::int64_t>, 2> bytes_;  ///< by direction, to each rank
};

}  // namespace

void NodeVectors::lay_out(std::int64_t vectors, const std::vector<std::int64_t>& gradients) {
  const auto own = static_cast<std::size_t>(memory_.node().rank());
  const std::int64_t floats = whole_lines(gradients[own]) + vectors;
  if (memory_.resize(floats * std::int64_t{sizeof(float)}))
    kernels::advise_huge_pages(memory_.part(memory_.node().rank()), floats * std::int64_t{sizeof(float)});
  const auto part = [&](std::size_t rank) { return reinterpret_cast<float*>(memory_.part(static_cast<int>(rank))); };
  const auto vectors_of = [&](std::size_t rank) { return part(rank) + whole_lines(gradients[rank]); };
  float *first = part(0), *end = first;
  for (std::size_t rank = 0; rank < gradients.size(); ++rank) {
    first = std::min(first, part(rank));
    end = std::max(end, part(rank) + gradients[rank]);
  }
  homes_ = {};
  homes_.own_vectors = vectors_of(own) - first;
  for (std::size_t rank = 0; rank < gradients.size(); ++rank) {
    homes_.packed.push_back(vectors_of(rank) - vectors_of(own));
    homes_.gradients.push_back(part(rank) - first);
  }
  vectors_ = DeviceArray<float>(vectors_of(own), static_cast<std::size_t>(vectors));
  gradients_ = DeviceArray<float>(part(own), static_cast<std::size_t>(gradients[own]));
  all_gradients_ = DeviceArray<float>(first, static_cast<std::size_t>(end - first));
}

std::unique_ptr<Transfer> make_vectors_at_home(const TransferContext& context, NodeVectors& vectors) {
  return std::make_unique<VectorsAtHome>(context, vectors);
}

}  // namespace shardmark::workloads
