// SPDX-License-Identifier: Apache-2.0
#include "workloads/checkpoint/key_lists.hpp"

#include <chrono>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "reference/sort_distinct.hpp"
#include "reference/storage.hpp"

namespace shardmark::workloads {
namespace {

/// Calls visit(cells, store) for the shards of this rank that hold cells of an array.
template <class Visit>
void for_each_holder(const ShardedTables& tables, const ArrayLayout& layout, const Visit& visit) {
  for (const HeldCells& cells : layout.holders)
    if (cells.rank == tables.layout().rank) visit(cells, tables.store_of(cells.shard));
}

}  // namespace

void count_keys(const comm::Communicator& comm, const ShardedTables& tables, SavedLayout& layout) {
  std::vector<std::int64_t> counts(layout.arrays.size());
  for (std::size_t a = 0; a < counts.size(); ++a)
    if (const auto part = layout.layouts[a].keyed)
      for_each_holder(tables, layout.layouts[a], [&](const HeldCells& cells, const Store& store) {
        if (!cells.repeats) counts[a] += store.saved_count(cells.shard, *part);
      });
  comm::all_reduce(comm, std::span(counts), comm::Reduce::sum);
  for (std::size_t a = 0; a < counts.size(); ++a)
    if (layout.layouts[a].keyed) layout.arrays[a].rows = counts[a];
}

KeyLists::KeyLists(const comm::Communicator& comm, const ShardedTables& tables, const SavedLayout& layout,
                   std::int64_t since)
    : comm_(comm), tables_(tables), layout_(layout), keys_(layout.arrays.size()), ends_(layout.arrays.size()) {
  for (std::size_t a = layout.arrays.size(); a-- > 0;)
    if (layout.layouts[a].keyed) to_gather_.push_back(a);
  whole_ = to_gather_.empty();
  if (!whole_) thread_ = std::async(std::launch::async, [this, since] { sort(since); });
}

bool KeyLists::wait() const {
  if (!thread_.valid()) return false;
  const bool ready = thread_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  return comm::all_reduce(comm_, ready ? 1 : 0, comm::Reduce::min) == 0;
}

void KeyLists::go_on() {
  if (thread_.valid()) comm::agree(comm_, [&] { thread_.get(); });
  if (merges_) {
    whole_ = true;
    return;
  }
  gather(to_gather_.back());
  to_gather_.pop_back();
  merges_ = to_gather_.empty();
  if (merges_) thread_ = std::async(std::launch::async, [this] { merge(); });
}

/// Stores list the keys of every shard, which are read in their order; those of first holders are what is saved.
void KeyLists::sort(std::int64_t since) {
  for (const std::size_t a : to_gather_) {
    std::vector<std::int64_t>& own = keys_[a].emplace();
    std::vector<std::int64_t> ends{0};
    for_each_holder(tables_, layout_.layouts[a], [&](const HeldCells& cells, Store& store) {
      const auto keys = store.saved_keys(cells.shard, *layout_.layouts[a].keyed, since);
      if (cells.repeats) return;
      own.insert(own.end(), keys.begin(), keys.end());
      ends.push_back(std::ssize(own));
    });
    merge_distinct(own, std::move(ends));
  }
}

void KeyLists::gather(std::size_t array) {
  auto all = comm::all_gather(comm_, std::span<const std::int64_t>(*keys_[array]));
  keys_[array] = std::move(all.values);
  ends_[array] = std::move(all.offsets);
}

void KeyLists::merge() {
  for (std::size_t a = 0; a < keys_.size(); ++a)
    if (keys_[a]) merge_distinct(*keys_[a], std::move(ends_[a]));
}

}  // namespace shardmark::workloads
