// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>

#include "workloads/tables/dense_store.hpp"
#include "workloads/tables/tt_store.hpp"

namespace shardmark::workloads {

/// What keeps the tables of a storage (reference/table.hpp), and how many bytes it needs for a part of one.
struct StorageMaker {
  Storage storage;
  std::unique_ptr<Store> (*make)(const ShardLayout&, const std::vector<Table>&,
                                 const std::vector<std::int64_t>& shards);
  double (*bytes)(const Table& table, std::int64_t rows, std::int64_t columns);
};

/// A new storage is a store in this folder and a line here.
inline constexpr std::array storage_makers{
    StorageMaker{Storage::dense, make_dense_store, dense_store_bytes},
    StorageMaker{Storage::tt, make_tt_store, tt_store_bytes},
};

/// Bytes of so many rows of so many columns of a table, with their optimizer state.
inline double storage_bytes(const Table& table, std::int64_t rows, std::int64_t columns) {
  return std::ranges::find(storage_makers, table.storage, &StorageMaker::storage)->bytes(table, rows, columns);
}

}  // namespace shardmark::workloads
