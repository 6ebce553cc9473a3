// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/exchange/exchange.hpp"
#include "kernels/unique_rows.hpp"
#include "workloads/transfer/id_wire.hpp"
#include "workloads/transfer/row_exchange.hpp"
#include "workloads/transfer/row_shards.hpp"

namespace shardmark {

/// One hop of rows: a rank asks others for the distinct rows among its positions, once each; they send the rows, and
/// get one gradient per row back. Ids are local rows of their shard, by (asker, row shard), ascending.
class RowStage {
 public:
  /// Numbers of row shards, [first, second).
  using Range = std::pair<std::int64_t, std::int64_t>;

  /// asked [ranks]: the row shards that this rank asks each rank for, ascending; held: those that this rank is asked
  /// for by the ranks r with askers[r].
  RowStage(Exchange& exchange, Wire& wire, const RowShards& rows, std::vector<Range> asked, Range held,
           const std::vector<bool>& askers);

  /// Finds the distinct rows, or with `repeated` lists a row for every position, and tells their holders how many there
  /// are. Collective. keys [positions]: of the row shards that are asked for; no rank has more than `peak` of them, nor
  /// is asked for more rows.
  void request(const ConstDeviceArray<std::int64_t>& keys, std::int64_t peak, bool repeated = false);

  /// What this rank asks for: row u of `unique` is row u - first_row(shard) of its shard, and comes back at element
  /// packed_begin(shard) + (u - first_row(shard)) * dim.
  const kernels::UniqueRows<Execution>& unique() const { return unique_; }
  std::int64_t first_row(std::int64_t shard) const { return first_row_(static_cast<std::size_t>(shard)); }
  std::int64_t rows(std::int64_t shard) const { return first_row(shard + 1) - first_row(shard); }
  std::int64_t packed_begin(std::int64_t shard) const { return packed_begin_[static_cast<std::size_t>(shard)]; }
  std::int64_t packed_elements() const { return packed_begin_.back(); }

  /// What this rank is asked for.
  Range held() const { return held_; }
  const std::vector<std::int64_t>& held_counts() const { return held_counts_; }  ///< [ranks x held shards]
  std::int64_t held_rows() const { return id_route_.receive_total(); }
  std::int64_t held_elements() const { return vectors_.owner_elements(); }

  /// ids [held_rows()]. Collective, as what follows.
  void receive_ids(const DeviceArray<std::int64_t>& ids);
  void send_rows(const DeviceArray<float>& held, const DeviceArray<float>& packed);
  void return_gradients(const DeviceArray<float>& packed, const DeviceArray<float>& held);

 private:
  void repeat_rows();
  void find_first_rows();
  void exchange_counts();
  void make_routes(std::int64_t peak);

  Exchange& exchange_;
  const RowShards& rows_;
  std::vector<Range> asked_;
  Range held_;
  Route count_route_;
  ConstDeviceArray<std::int64_t> first_key_;  ///< [row shards]

  // Of the current step.
  kernels::UniqueRowsWorkspace<Execution> workspace_;
  kernels::UniqueRows<Execution> unique_;
  Kokkos::View<std::int64_t*, Kokkos::HostSpace> first_row_;  ///< [row shards + 1]
  std::vector<std::int64_t> packed_begin_;                    ///< [row shards + 1]
  std::vector<std::int64_t> asked_counts_, held_counts_;
  IdWire id_wire_;
  DeviceScratch<std::int64_t> each_{"shardmark::each_position"};
  Route id_route_;
  RowExchange vectors_;
};

}  // namespace shardmark
