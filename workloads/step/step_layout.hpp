// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/route/vector_pieces.hpp"
#include "kernels/sort/shard_sort.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/transfer/replicated/replicated_update.hpp"
#include "workloads/transfer/unique_rows/home_rows.hpp"
#include "workloads/transfer/vector_route.hpp"

namespace shardmark::workloads {

/// Says where the vectors of a step lie, and lists this for the kernels. One array of `size` elements holds, in this
/// order, what the lookup writes and what comes home: the owner's buffer, the rows that are requested from this rank
/// one by one, the home's packed partials, those that it has pooled itself because some rows are hot, the outputs that
/// are put together from several of them, and sums of the gradients of shards of few rows. In the backward direction
/// the gradients take the places of the vectors that they belong to, of which nobody needs any but the outputs.
class StepLayout {
 public:
  /// Takes `rows`: those that travel one by one. All outlive the object.
  StepLayout(const ShardedTables& tables, const ShardLayout& layout, const HomeRows& rows,
             const ReplicatedUpdate& replicas);

  /// Computes the room that the vectors need; to be called when the bags or vectors have changed in number. Allocates
  /// nothing for numbers that have been seen before.
  void place(const BagCounts& bags, const VectorCounts& counts, VectorPlaces places);
  /// Lists what the kernels read; to be called after place(). homes: of vectors that lie at home, else empty.
  void list(const BagCounts& bags, const VectorCounts& counts, const HomePlaces& homes);

  struct Pieces {
    ConstDeviceArray<kernels::VectorPiece> pieces;
    ConstDeviceArray<kernels::Partial> partials;
    std::int64_t rows = 0;
  };

  const VectorPlaces& places() const { return places_; }
  std::int64_t owner_end() const { return places_.owner_size; }
  std::int64_t rows_begin() const { return owner_end() + band_; }
  std::int64_t rows_end() const { return rows_begin() + held_elements_; }
  std::int64_t packed_begin() const { return rows_end() + band_; }
  std::int64_t packed_end() const { return packed_begin() + places_.packed_size; }
  std::int64_t partials_end() const { return packed_end() + band_ + own_partial_elements_; }
  std::int64_t homes_begin() const { return partials_end() + band_; }
  std::int64_t homes_end() const { return homes_begin() + home_elements_; }
  std::int64_t sums_begin() const { return homes_end() + band_; }
  std::int64_t size() const { return sums_begin() + sums_elements_; }
  /// Returns guards of the places between these parts, where tests request them (guard_bands.hpp).
  std::vector<std::shared_ptr<const void>> bands_in(const DeviceArray<float>& vectors) const;
  /// Returns whether some features use their vectors as outputs where these arrive, so that no gradients may take their
  /// places.
  bool outputs_are_packed() const { return outputs_are_packed_; }
  /// Return by feature where its outputs begin among the vectors, and among the gradients of the outputs.
  const std::vector<std::int64_t>& output_begin() const { return output_begin_; }
  const std::vector<std::int64_t>& gradient_begin() const { return gradient_begin_; }
  /// Returns by feature where among the vectors the rows that came one by one are pooled: to the outputs, or to
  /// partials of them.
  const std::vector<std::int64_t>& row_pooled_begin() const { return row_pooled_begin_; }
  /// Returns whether the lookup here pools whole bags of a feature: of a replicated table.
  bool pools_whole(std::int64_t feature) const;

  /// These are the bags of shards that hold parts of tables, one block per (source rank, held shard), unless their
  /// owner reads each row once for all (OwnerRows), and one per (source rank, own slot); and the bags of replicated
  /// rows, one block per feature.
  TableLookups exchanged, replicated;
  /// Return their blocks, in the order of the bags.
  const std::vector<BagBlock>& exchanged_blocks() const { return exchanged_blocks_; }
  const std::vector<BagBlock>& replicated_blocks() const { return replicated_blocks_; }
  /// Returns the number of elements that they write.
  std::int64_t looked_up() const { return looked_up_; }
  /// These are the gradients of all bags, in the order of OwnedIds.
  ConstDeviceArray<kernels::GradientBlock> gradients;
  /// Lists the blocks of some shards once more, shard by shard.
  struct ByShard {
    ConstDeviceArray<kernels::GradientBlock> blocks;
    ConstDeviceArray<kernels::ShardBlocks> shards;
    std::int64_t bags = 0, most_bags = 0;  ///< of all of them, of one
    std::int64_t pieces = 0;               ///< elements of ReplicatedUpdate::clear_sums
  };
  ByShard exchanged_by_shard, replicated_by_shard;
  std::int64_t largest_max_dim = 0;
  Pieces to_sum;   ///< what is put together at home
  Pieces to_send;  ///< what goes back to the owners

 private:
  bool has_hot_rows(const Strip& strip) const { return strip.hot_rows > 0; }
  bool travels_by_rows(const Strip& strip) const { return places_.packed[strip.slots.front()] < 0; }
  void place_own_partials(const BagCounts& bags);
  void place_homes(const BagCounts& bags);
  void place_sums(const VectorCounts& counts);
  void list_blocks(const BagCounts& bags, const VectorCounts& counts, const HomePlaces& homes);
  void list_exchanged_shards(std::int64_t own_vectors);
  void list_replicated_shards(const BagCounts& bags);
  void list_slots(const BagCounts& bags, const VectorCounts& counts, const HomePlaces& homes);
  std::int64_t gradient_at_home(const BagCounts& bags, int home, const Slot& slot) const;
  void add_block(std::int64_t bags, std::int64_t shard_number, std::int64_t output, std::int64_t gradient,
                 Pooling pooling);
  void list_pieces(const BagCounts& bags, const VectorCounts& counts);
  void list_packed(const Strip& strip, const VectorCounts& counts);

  const ShardedTables& tables_;
  const ShardLayout& layout_;
  const ReplicatedUpdate& replicas_;
  std::vector<std::int64_t> held_shards_;  ///< local shards whose rows others request
  bool reads_held_;                        ///< by the lookup of the bags

  VectorPlaces places_;
  std::int64_t home_elements_ = 0, held_elements_ = 0, own_partial_elements_ = 0, sums_elements_ = 0;
  std::int64_t band_ = 0;  ///< elements that lie between the parts unused
  bool outputs_are_packed_ = false;
  std::int64_t next_bag_ = 0, looked_up_ = 0;
  std::vector<std::int64_t> output_begin_, gradient_begin_, row_pooled_begin_;
  std::vector<std::int64_t> sums_;       ///< by local shard: where its sums begin behind sums_begin(); -1: none
  std::vector<std::int64_t> sums_ends_;  ///< of the shards that have sums: where these end, likewise
  std::vector<std::int64_t> hot_begin_;  ///< by feature: where its hot rows are pooled; -1: it reads none

  struct PieceLists {
    HostList<kernels::VectorPiece> pieces;
    HostList<kernels::Partial> partials;
    std::int64_t rows = 0;

    void clear();
    void add(kernels::VectorPiece piece, const std::vector<kernels::Partial>& of_piece);
    Pieces arrays() { return {pieces.array(), partials.array(), rows}; }
  };
  std::vector<BagBlock> exchanged_blocks_, replicated_blocks_;
  HostList<kernels::GradientBlock> gradients_;
  struct ShardLists {
    HostList<kernels::GradientBlock> blocks;
    HostList<kernels::ShardBlocks> shards;

    /// Orders the blocks by shard. shard_of(key): the shard of this first key that has rows, or the last of them.
    template <class ShardOf>
    ByShard list(std::span<const kernels::GradientBlock> of, const ShardOf& shard_of);
  };
  ShardLists exchanged_shards_, replicated_shards_;
  PieceLists to_sum_, to_send_;
  std::vector<kernels::Partial> partials_;  ///< of one piece
};

}  // namespace shardmark::workloads
