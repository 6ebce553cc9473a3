// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/sort/shard_segments.hpp"
#include "kernels/tensor_train/slice_gradients.hpp"
#include "kernels/update/stored_gradients.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/tables/tensor_train/tt_cache.hpp"

namespace shardmark::workloads {

/// Runs Store::Updates for a TtCores: gradients of rows become gradients of the slices that they are made of, and the
/// slices are updated as the rows of a dense table are.
class TtUpdates : public Store::Updates {
 public:
  TtUpdates(const TtCores& cores, TtCaches& caches, const ShardLayout& layout, const std::vector<KeyedShard>& shards);

  void row_sums(const RowGradients&, const kernels::UpdateStep&, const DeviceArray<double>&, std::int64_t) override {}
  void run(const RowGradients& gradients, const kernels::UpdateStep& now,
           const kernels::RowSums<Execution>& whole_rows) override;
  kernels::RowElements count(const kernels::UniqueRows<Execution>& unique) override;

  std::vector<KeyedPart> parts() const override { return parts_; }
  RowGradients part_gradients(const RowGradients& rows) override;
  void update_parts(const RowGradients& slices, const kernels::UpdateStep& now) override;
  void report(std::span<std::int64_t> numbers) const override;

 private:
  struct Tt {
    std::size_t number;  ///< among the shards
    TtTable what;
    kernels::TtKeys keys;
    std::int64_t first_slice;
    TtCache* cache;               ///< or nullptr
    std::int64_t first_slot = 0;  ///< key of the first slot of a cache that is trained
  };
  /// Lists distinct rows, and under which keys they go.
  struct Keyed {
    DeviceArray<std::int64_t> keys, numbers;
  };
  struct Split {
    std::int64_t missed, hits;
  };
  bool is_trained(const Tt& tt) const { return tt.cache != nullptr && tt.cache->is_trained(); }
  std::int64_t place_rows(const kernels::UniqueRows<Execution>& unique);
  RowGradients without_cached(const RowGradients& rows, std::int64_t count);
  Split split_cached(const Tt& tt, const Keyed& rows, const Keyed& cored, std::int64_t at, const Keyed& cached,
                     std::int64_t cached_at);
  void place_missed(std::int64_t count);
  RowGradients stored(const RowGradients& slices);
  void end_step(const kernels::UpdateStep& now);

  std::vector<KeyedPart> parts_;
  std::vector<Tt> tts_of_shards_;
  std::int64_t key_bound_ = 0, slices_ = 0;
  SliceSums order_ = SliceSums::unordered;  ///< unless a table wants its sums ordered
  bool fused_ = true;                       ///< for all tables
  bool updates_ = false;                    ///< some table
  kernels::ShardSegments<Execution> segments_, core_segments_;
  kernels::TensorTrains<Execution> tts_;
  kernels::ShardList<Execution, kernels::UpdateShard> cores_, cached_rows_;
  std::int64_t slots_of_caches_ = 0;

  HostList<kernels::PackedRows> packed_rows_, packed_missed_, packed_slices_;
  HostList<kernels::TtRows> rows_;
  std::int64_t largest_dim_ = 0, largest_slice_ = 0;
  kernels::UniqueRowsWorkspace<Execution> unique_workspace_, stored_workspace_;
  kernels::RowGradientsWorkspace<Execution> row_workspace_, slice_workspace_;
  kernels::PrefixTreeWorkspace<Execution> tree_workspace_;
  kernels::TensorTrainWorkspace<Execution> workspace_;
  DeviceScratch<float> row_gradients_{"shardmark::train_row_gradients"},
      slice_gradients_{"shardmark::stored_slice_gradients"};
  DeviceScratch<std::int64_t> keys_{"shardmark::train_row_keys"}, numbers_{"shardmark::train_row_numbers"},
      core_keys_{"shardmark::core_row_keys"}, core_numbers_{"shardmark::core_row_numbers"},
      cached_keys_{"shardmark::cached_row_keys"}, cached_numbers_{"shardmark::cached_row_numbers"},
      slots_{"shardmark::found_slots"}, hits_{"shardmark::hits"}, misses_{"shardmark::misses"};
  kernels::UniqueRowsWorkspace<Execution> cached_workspace_, missed_workspace_;

  // Of the current step.
  std::optional<RowGradients> cached_;  ///< of rows that are trained in a cache
  std::optional<kernels::PrefixTree<Execution>> tree_;
};

}  // namespace shardmark::workloads
