// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "workloads/tables/shard_layout.hpp"
#include "workloads/transfer/row_exchange.hpp"

namespace shardmark::workloads {

/// Counts the bags of every feature on every rank: those of its own samples.
class BagCounts {
 public:
  BagCounts() = default;
  BagCounts(std::int64_t features, std::vector<std::int64_t> by_rank_and_feature)
      : features_(features), counts_(std::move(by_rank_and_feature)) {}

  std::int64_t operator()(int rank, std::int64_t feature) const { return counts_[rank * features_ + feature]; }
  bool operator==(const BagCounts&) const = default;

 private:
  std::int64_t features_ = 0;
  std::vector<std::int64_t> counts_;
};

/// Counts the vectors that travel in a step.
struct VectorCounts {
  std::vector<std::int64_t> home;   ///< [slots] to this rank from each slot of the plan
  std::vector<std::int64_t> owner;  ///< [ranks x own slots] from own slot k to rank r, at r * own slots + k
  /// These are [slots] where the bags of the slot begin among the cells of OwnedIds::vectors_before, when only those
  /// that hold an id have a vector; -1: every bag has one.
  std::vector<std::int64_t> first_cell;
  std::vector<std::int64_t> held_rows;  ///< of RowHop::held_counts: they travel apart from the vectors of slots

  bool operator==(const VectorCounts&) const = default;
};

/// Says where the vectors of a step lie, in elements.
struct VectorPlaces {
  /// These are places in the owner's buffer: vectors from own slot k to rank r, at owner[r * own slots + k].
  std::vector<std::int64_t> owner;
  std::int64_t owner_size = 0;
  /// These are ranges of the owner's buffer that no lookup writes and that must be 0 when they travel.
  std::vector<std::pair<std::int64_t, std::int64_t>> zeros;

  /// These are places in the home's buffer: vectors from each slot, at packed[slot]. Where the transfer adds them up,
  /// the slots of a strip share one place: that of the first, and the others have -1.
  std::vector<std::int64_t> packed;
  std::int64_t packed_size = 0;

  /// These are, by own slot, places in the home's buffer of what this rank sends to itself where that does not travel:
  /// the owner writes it there and finds the gradients there, and owner[] has -1; -1: it travels as all else.
  std::vector<std::int64_t> stays;

  /// If true, owners write each vector where its home has it (NodeVectors): then owner[] are places among the packed
  /// vectors of the home, and there is no owner's buffer.
  bool at_home = false;
};

/// Says where owners find what lies at home, by home rank, in elements: its packed vectors, counted from the first
/// vector of this rank, so below 0 for some; and the gradients of its outputs, counted from the first of its node's.
/// own_vectors: the vectors of this rank, counted from the first gradient that it reads.
struct HomePlaces {
  std::vector<std::int64_t> packed, gradients;
  std::int64_t own_vectors = 0;
};

/// Returns the blocks of pooled embeddings of the chosen slots, which travel from their owners to the homes of the
/// samples, and adds where they lie to `places`: appended to the owner's buffer by (home rank, slot), to the home's
/// buffer by slot. own_stays: what a rank sends to itself is no block, and lies behind those in the home's buffer
/// (VectorPlaces::stays). Every rank computes it from the counts, without a handshake; `bags` bound them.
RowBlocks add_vector_blocks(const ShardLayout& layout, const BagCounts& bags, const VectorCounts& counts,
                            const std::function<bool(const Slot&)>& chosen, bool own_stays, VectorPlaces& places);

/// Returns VectorPlaces with nothing in them yet: no vector has an address.
VectorPlaces no_places(const ShardLayout& layout);

}  // namespace shardmark::workloads
