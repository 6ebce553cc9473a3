// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "workloads/tables/storages.hpp"

namespace shardmark::workloads {

/// Holds the rows and optimizer state that a plan puts on this rank: a store for each storage that its tables have.
class ShardedTables {
 public:
  ShardedTables(const placement::Plan& plan, const std::vector<Table>& tables, const std::vector<Feature>& features,
                int rank);
  ShardedTables(ShardedTables&&) = delete;  // the stores know where layout and tables lie

  /// Sets rows and state to their initial values; the next step is number 1.
  void fill(const RowValues& initial);

  /// Returns how many steps have updated the tables since they were filled.
  std::int64_t steps() const { return step_.number; }
  /// Counts the step that updates the tables now, and returns it.
  kernels::UpdateStep next_step() {
    ++step_.number;
    return step_;
  }

  /// Return and set the latest step: with the rows of all stores (Store::read_range), all that a checkpoint of the
  /// tables holds.
  const kernels::UpdateStep& latest_step() const { return step_; }
  void resume(const kernels::UpdateStep& latest) { step_ = latest; }

  /// Call Store::keep_rows() and let_go() of all stores.
  void keep_rows();
  void let_go();

  const ShardLayout& layout() const { return layout_; }
  const std::vector<Table>& tables() const { return tables_; }
  const std::vector<Feature>& features() const { return features_; }
  const Table& table_of(const Feature& feature) const { return tables_[feature.table]; }

  /// Return the store that keeps a shard, and all of them.
  Store& store_of(std::int64_t shard) const { return *stores_[store_numbers_[shard]]; }
  const std::vector<std::unique_ptr<Store>>& stores() const { return stores_; }
  std::size_t store_number(std::int64_t shard) const { return store_numbers_[shard]; }

  /// Returns the share of the bytes of the rows that lie in huge pages, 0 to 1; of the store with the least.
  double huge_page_share() const;
  /// Adds Store::report() of the stores of a storage.
  void report(Storage storage, std::span<std::int64_t> numbers) const;
  /// Returns the storage of a store, by its number.
  Storage storage_of_store(std::size_t number) const { return storages_[number]; }

 private:
  std::vector<Table> tables_;
  std::vector<Feature> features_;
  ShardLayout layout_;
  kernels::UpdateStep step_{.number = 0};
  std::vector<std::unique_ptr<Store>> stores_;
  std::vector<Storage> storages_;           ///< by store
  std::vector<std::size_t> store_numbers_;  ///< by shard
};

/// Runs Store::Lookups for bags of any shards.
class TableLookups {
 public:
  /// shards: those that blocks may read.
  TableLookups(const ShardedTables& tables, const std::vector<std::int64_t>& shards);

  void set(const std::vector<BagBlock>& blocks);
  /// Returns whether any of the blocks pool by max.
  bool pools_by_max() const { return pools_by_max_; }
  void run(const BagIds& bags, const DeviceArray<float>& output);
  void max_gradients(const BagIds& bags, const ConstDeviceArray<float>& pooled,
                     const ConstDeviceArray<float>& gradients, const DeviceArray<float>& id_gradients);

  /// Adds Store::Lookups::report() of the latest run() in stores of a storage.
  void report(Storage storage, std::span<std::int64_t> numbers) const;

 private:
  struct Part {
    std::unique_ptr<Store::Lookups> lookups;
    std::vector<BagBlock> blocks;
  };
  const ShardedTables& tables_;
  std::vector<Part> parts_;  ///< by store
  bool pools_by_max_ = false;
};

/// Runs Store::Updates for rows of any shards.
class TableUpdates {
 public:
  TableUpdates(const ShardedTables& tables, const std::vector<KeyedShard>& shards);

  void row_sums(const RowGradients& gradients, const kernels::UpdateStep& now, const DeviceArray<double>& sums,
                std::int64_t width);
  void run(const RowGradients& gradients, const kernels::UpdateStep& now,
           const kernels::RowSums<Execution>& whole_rows = {});

  /// Returns the bytes of the distinct rows, each read once; for rows that are computed from others, the bytes of
  /// those.
  std::int64_t row_bytes(const kernels::UniqueRows<Execution>& unique) const;

  /// Adds Store::Updates::report() of the latest update in stores of a storage.
  void report(Storage storage, std::span<std::int64_t> numbers) const;

  const std::vector<std::unique_ptr<Store::Updates>>& by_store() const { return parts_; }

 private:
  const ShardedTables& tables_;
  std::vector<std::unique_ptr<Store::Updates>> parts_;
};

}  // namespace shardmark::workloads
