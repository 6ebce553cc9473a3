// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/exchange/exchange.hpp"
#include "workloads/transfer/id_wire.hpp"
#include "workloads/transfer/row_exchange.hpp"
#include "workloads/transfer/unique_rows/distinct_rows.hpp"

namespace shardmark::workloads {

/// One hop of rows: a rank asks others for the distinct rows among its positions, once each; they send the rows, and
/// get one gradient per row back. Ids are local rows of their shard, by (asker, row shard), ascending.
class RowHop {
 public:
  /// Numbers of row shards, [first, second).
  using Range = std::pair<std::int64_t, std::int64_t>;

  /// asked [ranks]: the row shards that this rank asks each rank for, ascending; held: those that this rank is asked
  /// for by the ranks r with askers[r].
  RowHop(comm::Exchange& exchange, Wire& wire, const RowShards& rows, std::vector<Range> asked, Range held,
         const std::vector<bool>& askers);

  /// Finds the distinct rows, or with `repeated` lists a row for every position, and tells their holders how many there
  /// are. Collective. keys [positions]: of the row shards that are asked for; no rank has more than `bound` of them,
  /// nor is asked for more rows.
  void request(const ConstDeviceArray<std::int64_t>& keys, std::int64_t bound, bool repeated = false);

  /// What this rank asks for; the rows come back packed.
  const DistinctRows& asked() const { return distinct_; }

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
  void exchange_counts();
  void make_routes(std::int64_t bound);

  comm::Exchange& exchange_;
  const RowShards& rows_;
  std::vector<Range> asked_;
  Range held_;
  comm::Route count_route_;

  // Of the current step.
  DistinctRows distinct_;
  std::vector<std::int64_t> asked_counts_, held_counts_;
  IdWire id_wire_;
  comm::Route id_route_;
  RowExchange vectors_;
};

}  // namespace shardmark::workloads
