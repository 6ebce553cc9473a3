// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/exchange/exchange.hpp"
#include "comm/placement/traffic/movement.hpp"
#include "kernels/dynamic/key_numbers.hpp"
#include "kernels/lookup/pooled_lookup.hpp"
#include "kernels/route/expand_positions.hpp"
#include "kernels/route/row_partition.hpp"
#include "kernels/sort/shard_segments.hpp"
#include "kernels/update/stored_gradients.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/tables/shard_layout.hpp"
#include "workloads/transfer/row_exchange.hpp"
#include "workloads/transfer/wire.hpp"

namespace shardmark::workloads {

/// Is a shard whose rows travel one by one (RowTransfer::unique_rows): all features of its table request them together.
struct RowShard {
  int rank = 0;
  std::int64_t local_shard = -1;  ///< its number among the local shards, on its own rank
  std::int64_t group = 0;         ///< rows of the same table and columns are one group
  std::int64_t dim = 0;
  std::int64_t first_key = 0;  ///< key of its row 0 among the rows of all row shards
  bool any_key = false;        ///< its rows have numbers by the positions of a step (KeyNumbers), below most_numbered
  static constexpr std::int64_t most_numbered = std::int64_t{1} << 27;
};

/// Holds the keys of the rows of some positions, and what is to be added to those of shards of any keys: the number of
/// the id.
struct PositionKeys {
  ConstDeviceArray<std::int64_t> keys;     ///< [positions], see RowShard::first_key
  ConstDeviceArray<std::int32_t> shards;   ///< [positions], their row shards, or empty where nobody has listed them
  ConstDeviceArray<std::int32_t> tags;     ///< [positions], row shard or -1; empty where no shard has any keys
  ConstDeviceArray<std::int64_t> any_ids;  ///< as many
};

/// Lists the shards of a plan whose rows travel one by one, rank after rank, and the strips that read them.
struct RowShards {
  /// Takes places [ranks]: the order of the ranks.
  RowShards(const ShardLayout& layout, const std::vector<Table>& tables, const std::vector<Feature>& features,
            const std::vector<placement::RowTransfer>& modes, const std::vector<int>& places);

  bool empty() const { return shards.empty(); }
  /// Returns the numbers of the shards of a rank.
  std::pair<std::int64_t, std::int64_t> of_rank(int rank) const;

  std::vector<RowShard> shards;
  std::vector<std::int64_t> key_bounds;       ///< first_key of the shards, then `keys`
  ConstDeviceArray<std::int64_t> first_keys;  ///< of the shards
  ConstDeviceArray<std::uint8_t> any;         ///< of the shards: any_key; empty where none has
  std::vector<std::int64_t> strips;           ///< numbers in the layout
  std::vector<std::int64_t> group_of_strip;   ///< by place in `strips`
  std::int64_t groups = 0;
  std::int64_t keys = 0;
  std::int64_t largest_dim = 0;
  /// These map the rows of the strips, by place in `strips`, to shards; rows are counted from the first that is not
  /// hot; `slot`: number of the shard.
  kernels::RowOwners<Execution> owners;
};

/// Finds the distinct rows among some positions, by row shard, and where they lie when they are packed: those of a
/// shard together, shard after shard.
class DistinctRows {
 public:
  explicit DistinctRows(const RowShards& rows) : shards_(rows), segments_(rows.key_bounds) {}

  /// Finds the distinct rows of some positions. With `repeated` a row that several positions name counts as often as
  /// they name it. Waits for the device. Results are valid until the next call.
  void find(const PositionKeys& positions, bool repeated = false);

  const kernels::UniqueRows<Execution>& unique() const { return unique_; }
  std::int64_t count() const { return first_row_.back(); }
  /// Returns the number of the first row of a shard: row u of unique() is row u - first_row(shard) of its shard; shard
  /// in [0, row shards].
  std::int64_t first_row(std::int64_t shard) const { return first_row_[shard]; }
  std::int64_t rows(std::int64_t shard) const { return first_row(shard + 1) - first_row(shard); }
  /// Return the element where the packed rows of a shard begin, and how many elements there are of all.
  std::int64_t packed_begin(std::int64_t shard) const { return packed_begin_[shard]; }
  std::int64_t packed_elements() const { return packed_begin_.back(); }

  /// Returns the packed rows as kernels take them.
  kernels::ShardList<Execution, kernels::PackedRows> packed() const { return {packed_, shards_.largest_dim}; }

  /// Sets ids [count] to the rows, as numbers within their shard, or as the ids that they came by.
  template <class Index>
  void list_ids(const DeviceArray<Index>& ids) const {
    segments_.list_ids(unique_, 0, ids);
    if (numbered_) list_any_ids(ids);
  }
  /// Sets numbers [positions] to u + shift[shard of row u] at the positions of row u.
  void number_positions(const ConstDeviceArray<std::int64_t>& shift, const DeviceArray<std::int64_t>& numbers) const {
    kernels::invert_unique_rows(Execution(), unique_, shards_.first_keys, shift, numbers);
  }

 private:
  template <class Index>
  void list_any_ids(const DeviceArray<Index>& ids) const;

  const RowShards& shards_;
  bool numbered_ = false;
  kernels::KeyNumbers<Execution> numbers_;
  DeviceScratch<std::int64_t> keys_{"shardmark::numbered_keys"};
  kernels::UniqueRowsWorkspace<Execution> workspace_;
  DeviceScratch<std::int64_t> each_{"shardmark::each_position"};
  kernels::UniqueRows<Execution> unique_;
  kernels::ShardSegments<Execution> segments_;
  std::vector<std::int64_t> first_row_{0}, packed_begin_{0};  ///< [row shards + 1]
  HostList<kernels::PackedRows> packed_rows_;
  ConstDeviceArray<kernels::PackedRows> packed_;
};

/// Is one hop of rows: a rank requests from others the distinct rows among its positions, once each; they send the
/// rows, and get one gradient per row back. Ids are local rows of their shard, by (requester, row shard), ascending.
class RowHop {
 public:
  /// Names the numbers of row shards, [first, second).
  using Range = std::pair<std::int64_t, std::int64_t>;

  /// Takes asked [ranks]: the row shards that this rank requests from each rank, ascending; held: those that the ranks
  /// r with askers[r] request from this rank.
  RowHop(comm::Exchange& exchange, Wire& wire, const RowShards& rows, std::vector<Range> requested, Range held,
         const std::vector<bool>& askers);

  /// Finds the distinct rows, or with `repeated` lists a row for every position, and sends their holders how many there
  /// are. Collective. positions: of the row shards that are requested; no rank has more than `bound` of them, nor has
  /// more rows requested from it.
  void request(const PositionKeys& positions, std::int64_t bound, bool repeated = false);

  /// Returns what this rank requests; the rows come back packed.
  const DistinctRows& requested() const { return distinct_; }

  /// Return what is requested from this rank.
  Range held() const { return held_; }
  const std::vector<std::int64_t>& held_counts() const { return held_counts_; }  ///< [ranks x held shards]
  std::int64_t held_rows() const { return id_route_.receive_total(); }
  std::int64_t held_elements() const { return vectors_.owner_elements(); }

  /// Receives ids [held_rows()]. Collective, as what follows.
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

/// Lists the rows that are requested from a rank in a stage, by position: the same row from several requesters, or from
/// one several times. The rank that has each distinct one of them once copies it to all positions.
class AnsweredRows {
 public:
  /// Both outlive the object.
  AnsweredRows(const RowShards& rows, const RowHop& stage) : rows_(rows), stage_(stage) {}

  /// Takes ids [positions] as they came (RowHop::receive_ids), each a bag of one by offsets [positions + 1]; the calls
  /// that follow read both, too.
  void list(const ConstDeviceArray<std::int64_t>& offsets, const ConstDeviceArray<std::int64_t>& ids);

  /// Return [positions]: the keys of their rows, and where their vectors begin among RowHop::held_elements().
  const DeviceArray<std::int64_t>& keys() const { return keys_; }
  /// Returns these where the ids are as they came, and not places.
  PositionKeys requested_keys();
  const DeviceArray<std::int64_t>& vector_begin() const { return vector_begin_; }

  /// Writes to vectors [held_elements()] the row of each position. distinct: of keys(); packed: their rows.
  void repeat(const DistinctRows& distinct, const DeviceArray<float>& packed, const DeviceArray<float>& vectors);

 private:
  const RowShards& rows_;
  const RowHop& stage_;

  // Of the current step, by position.
  ConstDeviceArray<std::int64_t> offsets_, ids_;
  DeviceArray<std::int64_t> keys_, vector_begin_;
  DeviceScratch<std::int32_t> tags_{"shardmark::asked_tags"};
  DeviceScratch<std::int64_t> keys_scratch_{"shardmark::asked_keys"}, begin_scratch_{"shardmark::asked_vectors"};
  DeviceScratch<std::int64_t> indices_{"shardmark::asked_indices"};
  HostList<kernels::GradientBlock> blocks_;  ///< one per (asker, held row shard)
  HostList<kernels::LookupBlock> lookups_;
  HostList<std::int64_t> shift_;
};

}  // namespace shardmark::workloads
