// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "kernels/lookup/pooled_gradients.hpp"
#include "kernels/sort/shard_segments.hpp"
#include "kernels/tensor_train/contract_rows.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/tables/tensor_train/tt_cache.hpp"

namespace shardmark::workloads {

/// Looks up rows of the tt tables of one dim: the distinct rows that a step names are contracted, one behind the other,
/// ids become their numbers, and bags are pooled as those of any rows are. Rows that a cache holds are read there.
class TtLookup {
 public:
  /// tts: of this dim.
  TtLookup(const TtCores& cores, TtCaches& caches, const std::vector<TtTable>& tts);

  /// These do what Store::Lookups::set does, block by block.
  void clear();
  void add(const BagBlock& block);
  void set();

  /// Runs the lookups. numbers: [ids of all bags] of the rows, in the places of the ids of these blocks.
  void run(const BagIds& bags, const DeviceArray<std::int64_t>& numbers, const DeviceArray<float>& output);
  void max_gradients(const BagIds& bags, const DeviceArray<std::int64_t>& numbers,
                     const ConstDeviceArray<float>& pooled, const ConstDeviceArray<float>& gradients,
                     const DeviceArray<float>& id_gradients);

  /// Adds the numbers of the latest step.
  void report(std::span<std::int64_t> numbers) const;

 private:
  struct Tt {
    std::int64_t shard;
    kernels::TtKeys keys;
    TensorTrainShape contracted;
    TtCache* cache;                  ///< or nullptr
    std::size_t begin = 0, end = 0;  ///< blocks among train_bags_
    const float* rows = nullptr;     ///< whose numbers are ids now
  };
  /// Lists the ids whose rows are contracted.
  struct Keyed {
    DeviceArray<std::int64_t> keys, positions;
  };

  void count_ids(const BagIds& bags);
  Keyed list_ids(const BagIds& bags);
  Keyed without_hits(const Keyed& all, const DeviceArray<std::int64_t>& numbers);
  std::int64_t find_hits(const Tt& tt, const Keyed& ids, const Keyed& missed, std::int64_t place,
                         const DeviceArray<std::int64_t>& numbers);
  void contract(const Keyed& ids, const DeviceArray<std::int64_t>& numbers);
  void number_rows(const DeviceArray<float>& rows, const DeviceArray<std::int64_t>& numbers);
  void complete(const DeviceArray<float>& rows);
  const Tt& tt_of(std::int64_t shard) const;

  std::int64_t dim_;
  std::vector<Tt> tts_;  ///< by ascending key
  std::int64_t key_bound_ = 0;
  bool has_caches_ = false;
  kernels::TensorTrains<Execution> cores_;
  kernels::ShardSegments<Execution> segments_;

  std::vector<std::pair<std::int64_t, kernels::TtBags>> bags_of_shards_;
  HostList<kernels::TtBags> tt_bags_;  ///< by tt table, those without a cache first
  std::vector<std::int64_t> shards_;   ///< of lookups_ and, behind them, of maxima_
  HostList<kernels::LookupBlock> lookups_;
  HostList<kernels::PooledGradient> maxima_;
  std::vector<std::int64_t> maximum_shards_;

  // Of the current step.
  bool all_ids_ = false;                  ///< they are all of one tt table with a cache
  std::vector<std::int64_t> ids_before_;  ///< by block of train_bags_, on the host
  std::optional<kernels::UniqueRows<Execution>> unique_;
  std::optional<kernels::PrefixTree<Execution>> tree_;

  kernels::UniqueRowsWorkspace<Execution> unique_workspace_;
  kernels::PrefixTreeWorkspace<Execution> tree_workspace_;
  kernels::TensorTrainWorkspace<Execution> workspace_;
  HostList<std::int64_t> first_keys_, shifts_;
  DeviceScratch<std::int64_t> before_{"shardmark::train_ids_before"}, keys_{"shardmark::tt_keys"},
      positions_{"shardmark::train_positions"}, missed_keys_{"shardmark::missed_keys"},
      missed_positions_{"shardmark::missed_positions"}, slots_{"shardmark::found_slots"}, hits_{"shardmark::hits"},
      misses_{"shardmark::misses"}, missed_rows_{"shardmark::missed_rows"}, uses_{"shardmark::missed_uses"};
  DeviceScratch<float> rows_{"shardmark::contracted_rows"};
};

/// Runs Store::Lookups for a TtCores: a TtLookup for each dim of its tables.
class TtLookups : public Store::Lookups {
 public:
  TtLookups(const TtCores& cores, TtCaches& caches, const std::vector<std::int64_t>& shards);

  void set(const std::vector<BagBlock>& blocks) override;
  void run(const BagIds& bags, const DeviceArray<float>& output) override;
  void max_gradients(const BagIds& bags, const ConstDeviceArray<float>& pooled,
                     const ConstDeviceArray<float>& gradients, const DeviceArray<float>& id_gradients) override;
  void report(std::span<std::int64_t> numbers) const override;

 private:
  const TtCores& cores_;
  std::map<std::int64_t, TtLookup> by_dim_;
  DeviceScratch<std::int64_t> scratch_{"shardmark::contracted_row_numbers"};
  DeviceArray<std::int64_t> numbers_;  ///< of the step
};

}  // namespace shardmark::workloads
