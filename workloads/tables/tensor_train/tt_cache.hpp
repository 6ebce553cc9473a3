// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>

#include "kernels/tensor_train/cached_rows.hpp"
#include "kernels/tensor_train/contract_rows.hpp"
#include "kernels/tensor_train/row_cache.hpp"
#include "kernels/tensor_train/row_differences.hpp"
#include "workloads/tables/tensor_train/tt_cores.hpp"
#include "workloads/tables/tensor_train/tt_report.hpp"

namespace shardmark::workloads {

/// Is the cache of one tt table: which of its rows are kept as vectors (RowCacheDirectory), these with their optimizer
/// state, and what rows learned that have left.
class TtCache {
 public:
  TtCache(const TtCores& cores, const TtTable& tt);

  /// Forgets everything.
  void clear();

  bool is_trained() const { return tt_.what.tensor_train.cache.writes == CacheWrites::trained; }
  std::int64_t dim() const { return tt_.what.dim; }
  const float* rows() const { return rows_.data(); }
  kernels::RowCacheDirectory<Execution>& directory() { return *directory_; }
  /// Adds what it has counted to the numbers of tt_report.hpp. Waits for the device.
  void report(std::span<std::int64_t> numbers) const;

  /// Finds where rows lie, see RowCacheDirectory::find.
  void find(const ConstDeviceArray<std::int64_t>& rows, const DeviceArray<std::int64_t>& slots) const {
    directory_->find(Execution(), rows, version_, slots);
  }
  /// Turns the vectors of `rows` as their slices give them, [n, dim], into the values of the rows: adds what they
  /// learned while they were cached, and renews copies in the cache that are older.
  void complete(const DeviceArray<std::int64_t>& rows, const DeviceArray<float>& vectors);

  /// Ends step number `step`, which has updated the cores. What is due then is done before the next lookup, since a
  /// step of several groups of tables ends several times.
  void end_step(std::int64_t step) {
    step_ = step;
    if (tt_.what.optimizer.kind != OptimizerKind::none) age();
  }
  /// Makes copies stale: the cores are others now.
  void age() { ++version_; }
  /// Chooses the cached rows again where it is time.
  void populate_if_due();

  /// Returns the cached rows as a shard whose rows are slots, with keys from first_key.
  kernels::UpdateShard update_shard(std::int64_t first_key) const;
  std::int64_t slots() const { return directory_->shape().rows(); }

 private:
  void populate();
  DeviceArray<float> contracted(const ConstDeviceArray<std::int64_t>& rows);

  TtTable tt_;
  RowCacheShape shape_;
  kernels::TensorTrains<Execution> cores_;
  std::optional<kernels::RowCacheDirectory<Execution>> directory_;
  std::optional<kernels::RowDifferences<Execution>> differences_;
  DeviceArray<float> rows_;   ///< [slots, dim], at a multiple of the bytes of a row
  DeviceArray<float> state_;  ///< [slots, state per row], of CacheWrites::trained
  std::int64_t step_ = 0;     ///< the latest one
  std::int64_t version_ = 0;  ///< of the cores: how often they have changed
  std::int64_t populated_ = 0;

  ConstDeviceArray<std::int64_t> zero_;  ///< [1]
  kernels::UniqueRowsWorkspace<Execution> unique_workspace_;
  kernels::PrefixTreeWorkspace<Execution> tree_workspace_;
  kernels::TensorTrainWorkspace<Execution> workspace_;
  DeviceScratch<std::int64_t> keys_{"shardmark::cache_row_keys"}, places_{"shardmark::cache_row_places"},
      changed_{"shardmark::cache_changed_rows"}, slots_{"shardmark::cache_slots"};
  DeviceScratch<float> products_{"shardmark::cache_products"}, vectors_{"shardmark::cache_vectors"};
};

/// Holds the caches by shard, for those that have one.
using TtCaches = std::map<std::int64_t, TtCache>;

/// Returns the bytes of a cache of the table, without the differences of rows that left, whose number is unknown
/// beforehand.
double tt_cache_bytes(const Table& table);

/// Returns room for some rows of `dim` floats that begin at a multiple of their size in memory, so that rows of several
/// such arrays can be numbered from the first of one of them. values: at least (rows + 1) dim.
DeviceArray<float> row_aligned(const DeviceArray<float>& values, std::int64_t dim);

}  // namespace shardmark::workloads
