// SPDX-License-Identifier: Apache-2.0
#include "reference/storage.hpp"

#include <algorithm>

#include "reference/tensor_train/stored_cores.hpp"

namespace shardmark::reference {
namespace {

/// A storage is an entry here and one in workloads/tables/storages.cpp.
std::vector<StorageChoice>& mutable_storages() {
  static std::vector<StorageChoice> all{
      {{"dense", "every row as its values, one after the other", Storage::dense},
       bytes_of_values,
       true,
       true,
       false,
       true},
      {{"tt", "a tensor train: products of slices of a few small cores", Storage::tt},
       bytes_of_values,
       false,
       false,
       false,
       false,
       core_tables,
       slices_of,
       cached_rows,
       computed_by_cores,
       contraction_flops},
      {{"dynamic", "the rows that were seen, found by their keys; they come and go by admit, evict and capacity",
        Storage::dynamic},
       bytes_of_values,
       true,
       false,
       true,
       true},
  };
  return all;
}

}  // namespace

const std::vector<StorageChoice>& storages() { return mutable_storages(); }

AddedStorageChoice::AddedStorageChoice(const StorageChoice& choice) { mutable_storages().push_back(choice); }
AddedStorageChoice::~AddedStorageChoice() { mutable_storages().pop_back(); }

const StorageChoice& storage_of(const Table& table) {
  return *std::ranges::find(storages(), table.storage, &StorageChoice::value);
}

}  // namespace shardmark::reference
