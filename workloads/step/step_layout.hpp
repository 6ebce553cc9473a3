// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/route/vector_pieces.hpp"
#include "kernels/sort/shard_sort.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/transfer/replicated/replicated_update.hpp"
#include "workloads/transfer/unique_rows/home_rows.hpp"
#include "workloads/transfer/vector_route.hpp"

namespace shardmark::workloads {

/// Names the regions of the array that holds a step's pooled embeddings, rows and gradients. Those that other ranks
/// read and those that they write lie apart where that takes little more memory: to write where a core of another cache
/// has read takes several times as long (TUNING.md).
enum class VectorRegion {
  owner,           ///< what the owner has pooled, for all homes
  requested_rows,  ///< rows that are requested from this rank one by one
  packed,          ///< what comes home
  gradients,       ///< of what came home, which go back
  returned,        ///< gradients that came back to the owner
  returned_rows,   ///< gradients of requested rows, behind those
  hot_partials,    ///< what the home pools itself, because some rows are hot
  outputs,         ///< those that are put together from several partials
  sums             ///< of the gradients of shards of few rows
};

/// Places the parts of regions, those of one region behind each other, each with a guard behind it where tests request
/// these (guard_bands.hpp).
class VectorRegions {
 public:
  /// Removes all, and lets a guard have `band` elements.
  void clear(std::int64_t band);
  /// Adds a part to a region that is new or was added to last, and returns where it begins.
  std::int64_t add(VectorRegion region, std::int64_t elements);
  /// Lets parts that are added lie over the regions from `first` on, whose contents nobody needs when these are
  /// written; until go_behind(). Guards hold all of them apart.
  void lie_over(VectorRegion first) { next_ = band_ > 0 ? size_ : begin(first); }
  void go_behind();

  std::int64_t begin(VectorRegion region) const { return at_[static_cast<std::size_t>(region)].begin; }
  std::int64_t end(VectorRegion region) const { return at_[static_cast<std::size_t>(region)].end; }
  std::int64_t size() const { return size_; }
  /// Returns the elements of a region of `all`.
  template <class Array>
  auto of(const Array& all, VectorRegion region) const {
    return part(all, begin(region), end(region));
  }
  /// Returns the guards behind the parts, of an array that holds them.
  std::vector<std::shared_ptr<const void>> bands_in(const DeviceArray<float>& all) const;

 private:
  struct Range {
    std::int64_t begin = 0, end = 0;  ///< with the guards between its parts, without that behind the last
  };
  struct Band {
    std::int64_t begin;
    VectorRegion behind;
  };
  void place_others();

  std::array<Range, static_cast<std::size_t>(VectorRegion::sums) + 1> at_;
  std::vector<Band> bands_;
  std::int64_t band_ = 0, next_ = 0, size_ = 0;
  std::array<bool, std::tuple_size_v<decltype(at_)>> has_parts_{};
};

/// Says where the pooled embeddings, rows and gradients of a step lie, and lists this for the kernels.
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
  const VectorRegions& regions() const { return regions_; }
  /// Returns where among the vectors the gradients of the owner begin. Of features that pool by max they are a copy
  /// with those of single ids behind them, which so begins with what came back.
  std::int64_t owner_gradients_begin() const { return pools_by_max() ? regions_.begin(VectorRegion::returned) : 0; }
  /// Returns the gradients of the owner among the vectors, without those of single ids.
  DeviceArray<float> owner_gradients(const DeviceArray<float>& vectors) const {
    return pools_by_max() ? part(vectors, owner_gradients_begin(), regions_.end(VectorRegion::returned_rows)) : vectors;
  }
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
  bool pools_by_max() const { return largest_max_dim > 0; }
  bool has_hot_rows(const Strip& strip) const { return strip.hot_rows > 0; }
  bool travels_by_rows(const Strip& strip) const { return places_.packed[strip.slots.front()] < 0; }
  void find_packed_outputs();
  void place_travelling(const VectorCounts& counts);
  void place_own_partials(const BagCounts& bags);
  void place_outputs(const BagCounts& bags);
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
  VectorRegions regions_;
  std::int64_t next_bag_ = 0, looked_up_ = 0;
  std::vector<std::int64_t> packed_output_;  ///< by feature: where among `packed` its outputs begin; -1: not there
  std::vector<std::int64_t> output_begin_, gradient_begin_, row_pooled_begin_;
  std::vector<std::int64_t> sums_;       ///< by local shard: where its sums begin; -1: none
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
