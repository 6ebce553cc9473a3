// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/storages.hpp"

#include <algorithm>

#include "results/dynamic_fields.hpp"
#include "results/tensor_train_fields.hpp"
#include "workloads/tables/dense_store.hpp"
#include "workloads/tables/dynamic/dynamic_store.hpp"
#include "workloads/tables/tensor_train/tt_store.hpp"

namespace shardmark::workloads {
namespace {

/// A new storage is a store in this folder, a line here and one in reference/storage.cpp.
std::vector<StorageMaker>& mutable_makers() {
  static std::vector<StorageMaker> all{
      {Storage::dense, make_dense_store},
      {Storage::tt, make_tt_store, tt_bytes_beside, tt_step_bytes, tt_direction_is_open, set_tt_direction,
       steps_until_tt_is_warm, describe_cores, tt_numbers, results::tensor_train_fields::object, tt_details},
      {.storage = Storage::dynamic,
       .make = make_dynamic_store,
       .bytes_beside = dynamic_bytes_beside,
       .step_bytes = dynamic_step_bytes,
       .is_open = has_capacity,
       .decide = require_capacity,
       .steps_until_warm = steps_until_keys_are_known,
       .numbers = dynamic_numbers,
       .field = results::dynamic_fields::object,
       .details = dynamic_details},
  };
  return all;
}

}  // namespace

const std::vector<StorageMaker>& storage_makers() { return mutable_makers(); }

AddedStorage::AddedStorage(const StorageChoice& choice, const StorageMaker& maker) : choice_(choice) {
  mutable_makers().push_back(maker);
}
AddedStorage::~AddedStorage() { mutable_makers().pop_back(); }

const StorageMaker& maker_of(const Table& table) {
  return *std::ranges::find(storage_makers(), table.storage, &StorageMaker::storage);
}

double storage_bytes(const Table& table, std::int64_t rows, std::int64_t columns) {
  const auto beside = maker_of(table).bytes_beside;
  return placement::stored_bytes(table, rows, columns) + (beside ? beside(table, rows, columns) : 0.0);
}

double storage_bytes(const Table& table, const placement::HeldRows& rows, std::int64_t columns) {
  return storage_bytes(table, rows.most_rows(), columns);
}

}  // namespace shardmark::workloads
