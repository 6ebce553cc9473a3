// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/pack_row_gradients.hpp"
#include "kernels/shard_segments.hpp"
#include "kernels/tensor_train/slice_gradients.hpp"
#include "workloads/batches/listed.hpp"
#include "workloads/tables/train_cores.hpp"

namespace shardmark {

/// Store::Updates of a TrainCores: gradients of rows become gradients of the slices that they are made of, and the
/// slices are updated as the rows of a dense table are.
class TrainUpdates : public Store::Updates {
 public:
  TrainUpdates(const TrainCores& cores, const ShardLayout& layout, const std::vector<KeyedShard>& shards);

  void row_sums(const RowGradients&, const kernels::UpdateStep&, const DeviceArray<double>&, std::int64_t) override {}
  void run(const RowGradients& gradients, const kernels::UpdateStep& now,
           const kernels::RowSums<Execution>& whole_rows) override;
  kernels::RowElements count(const kernels::UniqueRows<Execution>& unique) override;

  std::vector<KeyedPart> parts() const override { return parts_; }
  RowGradients part_gradients(const RowGradients& rows) override;
  void update_parts(const RowGradients& slices, const kernels::UpdateStep& now) override;

 private:
  struct Train {
    std::size_t number;  ///< among the shards
    KeptTrain what;
    kernels::TrainKeys keys;
    std::int64_t first_slice;
  };
  std::int64_t place_rows(const kernels::UniqueRows<Execution>& unique);
  RowGradients stored(const RowGradients& slices);

  std::vector<KeyedPart> parts_;
  std::vector<Train> trains_of_shards_;
  std::int64_t key_bound_ = 0, slices_ = 0;
  SliceSums order_ = SliceSums::unordered;  ///< unless a table wants its sums ordered
  bool fused_ = true;                       ///< for all tables
  kernels::ShardSegments<Execution> segments_, core_segments_;
  kernels::TensorTrains<Execution> trains_;
  kernels::ShardList<Execution, kernels::UpdateShard> cores_;

  Listed<kernels::PackedRows> packed_rows_, packed_slices_;
  Listed<kernels::TrainRows> rows_;
  std::int64_t largest_dim_ = 0, largest_slice_ = 0;
  kernels::UniqueRowsWorkspace<Execution> unique_workspace_, stored_workspace_;
  kernels::RowGradientsWorkspace<Execution> row_workspace_, slice_workspace_;
  kernels::PrefixTreeWorkspace<Execution> tree_workspace_;
  kernels::TensorTrainWorkspace<Execution> workspace_;
  DeviceScratch<float> row_gradients_{"shardmark::train_row_gradients"},
      slice_gradients_{"shardmark::stored_slice_gradients"};
  DeviceScratch<std::int64_t> keys_{"shardmark::train_row_keys"}, vectors_{"shardmark::train_row_vectors"};
};

}  // namespace shardmark
