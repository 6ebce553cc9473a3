// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "workloads/tables/shard_layout.hpp"
#include "workloads/tables/store.hpp"

namespace shardmark::workloads {

/// Makes and describes what keeps the tables of a storage (reference/storage.hpp). Members with a default value concern
/// storages that compute rows or leave something open.
struct StorageMaker {
  Storage storage;
  std::unique_ptr<Store> (*make)(const ShardLayout&, const std::vector<Table>&,
                                 const std::vector<std::int64_t>& shards);
  /// Returns the bytes that so many rows and columns of a table take beside these and their optimizer state
  /// (placement::stored_bytes).
  double (*bytes_beside)(const Table& table, std::int64_t rows, std::int64_t columns) = nullptr;
  /// Returns the bytes that a step takes beside ids, vectors and gradients. ids: that the rank looks up; distinct:
  /// different rows.
  double (*step_bytes)(const Table& table, double ids, double distinct) = nullptr;
  /// These return whether a table leaves something to its first batch, and decide it by the distinct rows that this
  /// names; number: of the table. Deciding throws InputError where a table cannot take the batch.
  bool (*is_open)(const Table& table) = nullptr;
  void (*decide)(Table& table, std::int64_t number, const std::vector<std::int64_t>& rows) = nullptr;
  /// Returns the steps from the filling of the table until its lookups take as long as they do from then on. batches:
  /// in memory, which steps take in turns, and whose rows are to be known before a step is timed.
  std::int64_t (*steps_until_warm)(const Table& table, std::int64_t batches) = nullptr;
  PartsDescription (*describe_parts)(const Table& table) = nullptr;
  /// These describe what its stores report, and the name and value of the field that a record has of that, where
  /// `tables` has some of the storage. numbers: as named, over all ranks.
  std::span<const ReportedNumber> numbers = {};
  const char* field = "";
  nlohmann::ordered_json (*details)(std::span<const Table> tables, std::span<const std::int64_t> numbers,
                                    const StepMilliseconds& times) = nullptr;
};

/// Returns the table of what makes storages (storages.cpp).
const std::vector<StorageMaker>& storage_makers();
const StorageMaker& maker_of(const Table& table);

/// Is a storage that exists as long as this object does, for tests.
class AddedStorage {
 public:
  AddedStorage(const StorageChoice& choice, const StorageMaker& maker);
  ~AddedStorage();
  AddedStorage(const AddedStorage&) = delete;
  AddedStorage& operator=(const AddedStorage&) = delete;

 private:
  reference::AddedStorageChoice choice_;
};

/// Returns the bytes of the rows that a shard may hold, of so many columns; see below.
double storage_bytes(const Table& table, const placement::HeldRows& rows, std::int64_t columns);
/// Returns the bytes of so many rows of so many columns of a table, with their optimizer state and what is kept beside
/// them.
double storage_bytes(const Table& table, std::int64_t rows, std::int64_t columns);

}  // namespace shardmark::workloads
