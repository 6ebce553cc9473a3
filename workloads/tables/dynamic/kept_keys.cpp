// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/dynamic/kept_keys.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include "reference/sort_distinct.hpp"

namespace shardmark::workloads {
namespace {

template <class T>
Kokkos::View<T*, Kokkos::HostSpace> kept_array(const std::string& label, std::size_t size) {
  return Kokkos::View<T*, Kokkos::HostSpace>(Kokkos::view_alloc(label, Kokkos::WithoutInitializing), size);
}

/// Copies the first elements of an array to one that nothing else writes.
template <class T, class Array>
Kokkos::View<T*, Kokkos::HostSpace> kept_copy(const std::string& label, const Array& array, std::size_t size) {
  const auto copy = kept_array<T>(label, size);
  Kokkos::deep_copy(copy, Kokkos::subview(array, std::pair<std::size_t, std::size_t>(0, size)));
  return copy;
}

}  // namespace

KeptKeys::KeptKeys(const kernels::DynamicKeys<Execution>& keys, std::vector<std::int64_t> left)
    : rows_(table_of(keys.table(), keys.uses())), left_(std::move(left)) {
  const auto& filter = keys.filter();
  if (filter.counted() != nullptr) counts_ = table_of(*filter.counted(), filter.counts());
  if (!filter.has_shared()) return;
  const Execution exec;
  lines_ = filter.shared().begun_lines();
  const auto read = kernels::allocate<Execution, kernels::CounterLine>("shardmark::kept_counters", std::ssize(lines_));
  filter.shared().read_lines(exec, kernels::array_of(exec, lines_, "shardmark::kept_lines"), read);
  counters_ = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), read);
  buckets_ = kept_copy<kernels::CountedBucket>("shardmark::kept_buckets", filter.shared().buckets(), key_buckets);
}

KeptKeys::Table KeptKeys::table_of(const kernels::KeyTable<Execution>& table, const ConstDeviceArray<RowUse>& uses) {
  const auto keys = kernels::allocate<Execution, std::int64_t>("shardmark::all_keys", table.keys()),
             slots = kernels::allocate<Execution, std::int64_t>("shardmark::all_slots", table.keys());
  table.list(Execution(), keys, slots);
  Execution().fence("shardmark: all keys are listed");
  const auto host_keys = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), keys),
             host_slots = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), slots);
  Table kept{kept_array<KeyAt>("shardmark::kept_keys", host_keys.extent(0)),
             kept_copy<RowUse>("shardmark::kept_uses", uses, static_cast<std::size_t>(table.slot_bound()))};
  const HostArray<KeyAt> pairs = kept.keys;
  Kokkos::parallel_for("shardmark::keep_keys", Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(0, table.keys()),
                       [=](const std::int64_t i) {
                         pairs(i) = {host_keys(i), host_slots(i)};
                       });
  Kokkos::DefaultHostExecutionSpace().fence("shardmark: all keys are kept");
  return kept;
}

std::int64_t KeptKeys::count(SavedKeys part) const {
  if (part == SavedKeys::counters) return std::ssize(lines_);
  if (part == SavedKeys::evicted) return 0;  // where all keys are saved
  return static_cast<std::int64_t>(of(part).keys.extent(0));
}

std::vector<std::int64_t> KeptKeys::used_since(Table& table, std::int64_t since) {
  KeyAt* const begin = table.keys.data();
  KeyAt* const end = begin + table.keys.extent(0);
  if (!table.sorted) std::sort(begin, end, [](const KeyAt& a, const KeyAt& b) { return a.key < b.key; });
  table.sorted = true;
  std::vector<std::int64_t> used;
  for (const KeyAt* at = begin; at < end; ++at)
    if (since == 0 || table.uses.data()[at->slot].last > since) used.push_back(at->key);
  return used;
}

std::vector<std::int64_t> KeptKeys::list(SavedKeys part, std::int64_t since) {
  if (part == SavedKeys::rows) return used_since(rows_, since);
  if (part == SavedKeys::counts) return used_since(counts_, since);
  std::vector<std::int64_t> changed;
  if (part == SavedKeys::counters) {
    std::ranges::copy_if(lines_, std::back_inserter(changed), [&](std::int64_t line) {
      return buckets_.data()[BloomShape::bucket_of_line(line)].last > since;
    });
    return changed;
  }
  if (since == 0) return {};
  sort_distinct(left_);
  for (Table* const table : {&rows_, &counts_}) {  // a key that has come back was used since
    changed.clear();
    std::ranges::set_difference(left_, used_since(*table, since), std::back_inserter(changed));
    left_.swap(changed);
  }
  return left_;
}

template <class Visit>
void KeptKeys::for_each_slot(const Table& table, const std::vector<std::int64_t>& keys, const Visit& visit) {
  const KeyAt* at = table.keys.data();
  const KeyAt* const end = at + table.keys.extent(0);
  for (const std::int64_t key : keys) {
    if (at->key != key) at = std::lower_bound(at, end, key, [](const KeyAt& a, std::int64_t b) { return a.key < b; });
    visit((at++)->slot);
  }
}

std::vector<std::int64_t> KeptKeys::slots(const std::vector<std::int64_t>& keys) const {
  std::vector<std::int64_t> slots;
  slots.reserve(keys.size());
  for_each_slot(rows_, keys, [&](std::int64_t slot) { slots.push_back(slot); });
  return slots;
}

std::vector<RowUse> KeptKeys::uses(SavedKeys part, const std::vector<std::int64_t>& keys) const {
  std::vector<RowUse> uses;
  uses.reserve(keys.size());
  for_each_slot(of(part), keys, [&](std::int64_t slot) { uses.push_back(of(part).uses.data()[slot]); });
  return uses;
}

std::vector<std::byte> KeptKeys::counters(const std::vector<std::int64_t>& lines) const {
  std::vector<std::byte> values(lines.size() * sizeof(kernels::CounterLine));
  for (std::size_t i = 0; i < lines.size(); ++i)
    std::memcpy(values.data() + i * sizeof(kernels::CounterLine),
                counters_.data() + (std::ranges::lower_bound(lines_, lines[i]) - lines_.begin()),
                sizeof(kernels::CounterLine));
  return values;
}

}  // namespace shardmark::workloads
