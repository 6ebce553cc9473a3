// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/tensor_train/cores.hpp"
#include "kernels/tensor_train/tt_keys.hpp"
#include "kernels/update/update_shard.hpp"
#include "workloads/tables/row_arrays.hpp"
#include "workloads/tables/shard_layout.hpp"

namespace shardmark::workloads {

/// Describes a table of Storage::tt as its rank keeps it.
struct TtTable {
  std::int64_t shard = 0, table = 0;
  Table what;
  TensorTrainShape shape;       ///< of the table
  TensorTrainShape contracted;  ///< of the cores in the order of contraction: the last one first if mirrored
  bool mirrored = false;
  /// These say by core in the order of contraction where its slices and their state begin, in bytes and in floats.
  std::array<std::int64_t, TensorTrainShape::most_cores> values{}, state{};

  /// Returns the place in the order of contraction of core t of the table, and the inverse.
  int place(int t) const { return mirrored ? shape.cores - 1 - t : t; }
  kernels::TtKeys keys(std::int64_t first_key) const { return {shape, mirrored, first_key}; }
};

/// Holds the cores of all tt tables of a rank with their optimizer state. Where the last core comes first, the mirrored
/// tensor train is kept, which is contracted like any other: the cores in reverse, each slice [r[t + 1]][q[t]][r[t]].
class TtCores {
 public:
  TtCores(const ShardLayout& layout, const std::vector<Table>& tables, const std::vector<std::int64_t>& shards);

  void fill(const RowValues& initial);

  const std::vector<TtTable>& tts() const { return tts_; }
  /// Returns the tt table of a shard; nullptr for shards of other stores.
  const TtTable* find(std::int64_t shard) const;

  /// Returns the cores for kernels: the rows of the table have keys from first_key, its slices from first_slice, core
  /// by core.
  kernels::TensorTrainCores cores(const TtTable& tt, std::int64_t first_key, std::int64_t first_slice) const;
  /// Returns core number `place` of the table as a shard whose rows are slices, with keys from first_key.
  kernels::UpdateShard update_shard(const TtTable& tt, int place, std::int64_t first_key) const;

  /// These do what Store::read_rows and so on do, for core t of the table: a slice is [r[t]][q[t]][r[t + 1]].
  ChosenRows read(const TtTable& tt, int t, const std::vector<std::int64_t>& slices) const;
  StoredRows read_range(const TtTable& tt, int t, std::int64_t first, std::int64_t count) const;
  void write_range(const TtTable& tt, int t, std::int64_t first, StoredRows slices) const;
  std::int64_t changed(const TtTable& tt, int t, const RowValues& initial) const;

  double huge_page_share() const;

 private:
  std::int64_t state_size(const TtTable& tt, int place) const;
  RowArrays arrays(const TtTable& tt, int place) const;
  std::byte* values(const TtTable& tt, int place) const { return values_.data() + tt.values[place]; }
  float* state(const TtTable& tt, int place) const { return state_.data() + tt.state[place]; }

  std::vector<TtTable> tts_;
  DeviceArray<std::byte> values_;
  DeviceArray<float> state_;
};

}  // namespace shardmark::workloads
