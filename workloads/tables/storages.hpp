// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "results/tensor_train_fields.hpp"
#include "workloads/tables/dense_store.hpp"
#include "workloads/tables/tensor_train/tt_store.hpp"

namespace shardmark::workloads {

/// Makes and describes what keeps the tables of a storage (reference/storage.hpp). Members with a default value concern
/// storages that compute rows or leave something open.
struct StorageMaker {
  Storage storage;
  std::unique_ptr<Store> (*make)(const ShardLayout&, const std::vector<Table>&,
                                 const std::vector<std::int64_t>& shards);
  /// Returns the bytes of some rows and columns with their optimizer state.
  double (*bytes)(const Table& table, std::int64_t rows, std::int64_t columns);
  /// Returns the bytes that a step takes beside ids, vectors and gradients. ids: that the rank looks up; distinct:
  /// different rows.
  double (*step_bytes)(const Table& table, double ids, double distinct) = nullptr;
  /// These return whether a table leaves something to its first batch, and decide it by the distinct rows that this
  /// names.
  bool (*is_open)(const Table& table) = nullptr;
  void (*decide)(Table& table, const std::vector<std::int64_t>& rows) = nullptr;
  /// Returns the steps from the filling of the table until its lookups take as long as they do from then on.
  std::int64_t (*steps_until_warm)(const Table& table) = nullptr;
  PartsDescription (*describe_parts)(const Table& table) = nullptr;
  /// These describe what its stores report, and the name and value of the field that a record has of that, where
  /// `tables` has some of the storage. numbers: as named, over all ranks.
  std::span<const ReportedNumber> numbers = {};
  const char* field = "";
  nlohmann::ordered_json (*details)(std::span<const Table> tables, std::span<const std::int64_t> numbers,
                                    const StepMilliseconds& times) = nullptr;
};

/// A new storage is a store in this folder and a line here.
inline constexpr std::array storage_makers{
    StorageMaker{Storage::dense, make_dense_store, dense_store_bytes},
    StorageMaker{Storage::tt, make_tt_store, tt_store_bytes, tt_step_bytes, tt_direction_is_open, set_tt_direction,
                 steps_until_tt_is_warm, describe_cores, tt_numbers, results::tensor_train_fields::object, tt_details},
};

inline const StorageMaker& maker_of(const Table& table) {
  return *std::ranges::find(storage_makers, table.storage, &StorageMaker::storage);
}

/// Returns the bytes of so many rows of so many columns of a table, with their optimizer state.
inline double storage_bytes(const Table& table, std::int64_t rows, std::int64_t columns) {
  return maker_of(table).bytes(table, rows, columns);
}

}  // namespace shardmark::workloads
