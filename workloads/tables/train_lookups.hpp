// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "kernels/pooled_gradients.hpp"
#include "kernels/tensor_train/contract_rows.hpp"
#include "workloads/batches/listed.hpp"
#include "workloads/tables/train_cores.hpp"

namespace shardmark {

/// Lookups in the tensor trains of one dim: the distinct rows that a step names are contracted, one behind the other,
/// ids become their numbers, and bags are pooled as those of any rows are.
class TrainLookup {
 public:
  TrainLookup(const TrainCores& cores, std::int64_t dim);

  /// Store::Lookups::set, block by block.
  void clear();
  void add(const BagBlock& block);
  void set();

  /// ids: [ids of all bags] numbers of rows, in the places of the ids of these blocks.
  void run(const BagIds& bags, const DeviceArray<std::int64_t>& ids, const DeviceArray<float>& output);
  void max_gradients(const BagIds& bags, const DeviceArray<std::int64_t>& ids, const ConstDeviceArray<float>& pooled,
                     const ConstDeviceArray<float>& gradients, const DeviceArray<float>& id_gradients);

 private:
  std::int64_t count_ids(const BagIds& bags);
  void contract(const BagIds& bags, std::int64_t count, const DeviceArray<std::int64_t>& ids);

  std::int64_t dim_;
  std::map<std::int64_t, kernels::TrainKeys> keys_;  ///< by shard
  std::int64_t key_bound_ = 0;
  kernels::TensorTrains<Execution> trains_;

  Listed<kernels::TrainBags> train_bags_;
  Listed<kernels::LookupBlock> lookups_;
  Listed<kernels::PooledGradient> maxima_;

  kernels::UniqueRowsWorkspace<Execution> unique_workspace_;
  kernels::PrefixTreeWorkspace<Execution> tree_workspace_;
  kernels::TensorTrainWorkspace<Execution> workspace_;
  Kokkos::View<std::int64_t, Kokkos::HostSpace> host_count_{"shardmark::host_train_ids"};
  ConstDeviceArray<std::int64_t> zero_;  ///< [1]
  DeviceScratch<std::int64_t> before_{"shardmark::train_ids_before"}, keys_of_ids_{"shardmark::train_keys"},
      positions_{"shardmark::train_positions"};
  DeviceScratch<float> rows_{"shardmark::contracted_rows"};
};

/// Store::Lookups of a TrainCores: a TrainLookup for each dim of its tables.
class TrainLookups : public Store::Lookups {
 public:
  explicit TrainLookups(const TrainCores& cores);

  void set(const std::vector<BagBlock>& blocks) override;
  void run(const BagIds& bags, const DeviceArray<float>& output) override;
  void max_gradients(const BagIds& bags, const ConstDeviceArray<float>& pooled,
                     const ConstDeviceArray<float>& gradients, const DeviceArray<float>& id_gradients) override;

 private:
  const TrainCores& cores_;
  std::map<std::int64_t, TrainLookup> by_dim_;
  DeviceScratch<std::int64_t> ids_{"shardmark::contracted_row_numbers"};
  DeviceArray<std::int64_t> numbers_;  ///< of the step
};

}  // namespace shardmark
