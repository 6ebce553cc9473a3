// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "comm/placement/traffic.hpp"
#include "reference/wire_rounding.hpp"

namespace shardmark {

/// Some columns of a table whose rows are split: what one transfer is chosen for.
struct RowSplit {
  std::int64_t table = 0;
  std::int64_t column_begin = 0, column_end = 0;

  bool operator==(const RowSplit&) const = default;
};

/// In the order of tables and columns.
std::vector<RowSplit> row_splits(const Plan& plan, std::span<const Table> tables);

/// The ids of one feature in the samples of one rank: bag b holds ids [offsets[b], offsets[b + 1]) of `indices`.
struct FeatureBags {
  std::span<const std::int64_t> offsets;  ///< [bags + 1]; a bag per id for Pooling::none
  std::span<const std::int64_t> indices;
};

/// What every transfer would send for each row split, by the definitions of traffic.hpp. A rank adds what its own
/// samples cause; the sum over ranks of bytes() is the whole.
class TransferBytes {
 public:
  /// Those that `auto` chooses from; reduce_scatter sends as much as dense_partials or, in all, more.
  static constexpr std::array candidates{RowTransfer::dense_partials, RowTransfer::sparse_partials,
                                         RowTransfer::unique_rows};

  TransferBytes(const Plan& plan, std::span<const Table> tables, std::span<const Feature> features, WireTypes wire,
                IdType ids, bool weighted);

  /// bags: by feature.
  void add_home(int home, std::span<const FeatureBags> bags);

  /// Bytes that each rank sends, [row splits, candidates, ranks].
  std::span<std::int64_t> bytes() { return bytes_; }

  /// By row split, the transfer whose busiest rank sends least; unique_rows for features that pool by max.
  std::vector<RowTransfer> cheapest() const;

 private:
  void add_shard(std::size_t split, const Shard& shard, int home, std::span<const FeatureBags> bags);
  void add(std::size_t split, RowTransfer transfer, int home, int owner, std::int64_t asked_bytes, std::int64_t vectors,
           std::int64_t columns);
  std::span<const std::int64_t> sent(std::size_t split, std::size_t candidate) const;

  const Plan& plan_;
  std::span<const Feature> features_;
  WireTypes wire_;
  std::int64_t row_id_bytes_, id_bytes_;  ///< of a row that is asked for; of a looked-up id with its weight
  std::vector<RowSplit> splits_;
  std::vector<std::int64_t> bytes_;
};

}  // namespace shardmark
