// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "workloads/checkpoint/saved_layout.hpp"
#include "workloads/tables/sharded_tables.hpp"

namespace shardmark::workloads {

/// Calls visit(shard number, store) for the shards of this rank whose rows come and go.
template <class Visit>
void for_each_keyed_shard(const ShardedTables& tables, const Visit& visit) {
  const ShardLayout& layout = tables.layout();
  for (std::int64_t s = 0; s < std::ssize(layout.shards); ++s)
    if (storage_of(tables.tables()[layout.shards[s].table]).comes_and_goes) visit(s, tables.store_of(s));
}

/// Sets how many rows each array has whose rows come and go, as stores keep their keys (Store::keep_keys). Collective.
void count_keys(const comm::Communicator& comm, const ShardedTables& tables, SavedLayout& layout);

/// Numbers of rows of each array; none stands for all.
using ListedRows = std::vector<std::optional<std::vector<std::int64_t>>>;

/// Lists the keys of all ranks that a checkpoint has, as stores keep them: each rank sorts its own, they are gathered
/// an array at a time, and merged. Threads of its own sort and merge, so that steps can go on.
class KeyLists {
 public:
  /// Begins to list what has changed after step `since`. All outlive the object.
  KeyLists(const comm::Communicator& comm, const ShardedTables& tables, const SavedLayout& layout, std::int64_t since);

  bool are_whole() const { return whole_; }
  /// Returns whether go_on() would wait for a thread of a rank. Collective.
  bool wait() const;
  /// Does the next part, for which all ranks wait; whole lists have none. Collective.
  void go_on();

  /// Returns the keys by array, once they are whole; none of an array whose rows do not come and go.
  ListedRows take() { return std::move(keys_); }

 private:
  void sort(std::int64_t since);
  void gather(std::size_t array);
  void merge();

  const comm::Communicator& comm_;
  const ShardedTables& tables_;
  const SavedLayout& layout_;
  ListedRows keys_;                              ///< by array: of this rank, then of all
  std::vector<std::vector<std::int64_t>> ends_;  ///< by array: of what each rank has of it
  std::vector<std::size_t> to_gather_;           ///< arrays, the last one first
  bool merges_ = false, whole_ = false;
  std::future<void> thread_;  ///< ends before what it works on
};

}  // namespace shardmark::workloads
