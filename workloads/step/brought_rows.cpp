// SPDX-License-Identifier: Apache-2.0
#include "workloads/step/brought_rows.hpp"

#include "kernels/route/bag_lengths.hpp"
#include "kernels/route/expand_positions.hpp"
#include "reference/storage.hpp"

namespace shardmark::workloads {

BroughtRows::BroughtRows(const ShardedTables& tables, const ShardLayout& layout) : tables_(tables), layout_(layout) {
  const std::vector<KeyedShard>& shards = layout.exchanged;
  std::vector<std::int64_t> first_keys;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const std::int64_t table = layout.shards[shards[s].shard].table;
    if (storage_of(tables.tables()[table]).comes_and_goes) brought_.push_back(s);
    first_keys.push_back(shards[s].first_key);
  }
  if (!any()) return;
  first_keys_ = kernels::array_of(Execution(), first_keys, "shardmark::first_keys");
  no_shift_ = kernels::array_of(Execution(), std::vector<std::int64_t>(shards.size()), "shardmark::no_shift");
  first_keys.push_back(layout.exchanged_keys);
  segments_ = kernels::ShardSegments<Execution>(first_keys);
}

void BroughtRows::bring(std::int64_t step, const ConstDeviceArray<kernels::GradientBlock>& blocks, const BagIds& bags,
                        std::int64_t count, DeviceScratch<std::int64_t>& keys, DeviceScratch<std::int64_t>& numbers,
                        kernels::UniqueRowsWorkspace<Execution>& workspace) {
  if (!any()) return;
  const Execution exec;
  const auto ids = static_cast<std::int64_t>(bags.ids.extent(0));
  const auto of_ids = keys.first(ids), numbers_of_ids = numbers.first(ids);
  kernels::expand_positions(exec, blocks, ConstDeviceArray<std::int64_t>(bags.offsets), bags.ids, of_ids,
                            numbers_of_ids);
  const auto unique = kernels::unique_rows<Execution>(exec, part(of_ids, 0, count), layout_.exchanged_keys, workspace);
  const std::vector<std::int64_t>& begins = segments_(unique);
  const auto distinct = distinct_.first(begins.back()), places = places_.first(begins.back());
  segments_.list_ids(unique, 0, distinct);
  Kokkos::deep_copy(exec, places, distinct);
  for (const std::size_t s : brought_) {
    const std::int64_t shard = layout_.exchanged[s].shard;
    tables_.store_of(shard).bring(shard, step, part(distinct, begins[s], begins[s + 1]),
                                  part(places, begins[s], begins[s + 1]));
  }
  const auto number = part(numbers_of_ids, 0, count);
  kernels::invert_unique_rows<Execution>(exec, unique, first_keys_, no_shift_, number);
  kernels::take<Execution>(exec, places, number, part(bags.ids, 0, count));
}

void BroughtRows::bring_by_shard(std::int64_t step, const ConstDeviceArray<kernels::ShardBlocks>& shards,
                                 const ConstDeviceArray<kernels::GradientBlock>& blocks, const BagIds& bags,
                                 std::int64_t count, const ConstDeviceArray<float>& gradients) {
  const Execution exec;
  const auto found = kernels::find_shard_keys<Execution>(exec, shards, blocks, bags.offsets, bags.ids, count,
                                                         layout_.exchanged_keys, gradients, by_shard_);
  exec.fence("shardmark: the host reads how many distinct keys each shard has");
  for (std::int64_t s = 0; s < static_cast<std::int64_t>(shards.extent(0)); ++s) {
    if (shards(s).keys == 0) continue;
    const std::int64_t shard = layout_.exchanged_of(shards(s).first_key).shard, begin = found.first_id(s),
                       end = begin + found.counts(s);
    tables_.store_of(shard).bring(shard, step, part(found.keys, begin, end), part(found.places, begin, end));
  }
  placed_ = kernels::place_keys<Execution>(exec, found);
}

void BroughtRows::bring_any(std::int64_t step, const ConstDeviceArray<kernels::ShardBlocks>& shards,
                            const ConstDeviceArray<kernels::GradientBlock>& blocks, const BagIds& bags,
                            std::int64_t count) {
  const Execution exec;
  numbers_.find_in_shards(exec, shards, blocks, bags.offsets, bags.ids, count, first_numbers_);
  const auto places = places_.first(first_numbers_.back());
  const auto listed = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), shards);
  for (std::size_t s = 0; s < listed.extent(0); ++s) {
    if (listed(s).keys == 0) continue;
    const std::int64_t shard = layout_.exchanged_of(listed(s).first_key).shard, begin = first_numbers_[s],
                       end = first_numbers_[s + 1];
    tables_.store_of(shard).bring(shard, step, part(numbers_.distinct(), begin, end), part(places, begin, end));
  }
  numbers_.place(exec, places, part(bags.ids, 0, count));
}

void BroughtRows::end(std::int64_t step) const {
  for (const std::size_t s : brought_) {
    const std::int64_t shard = layout_.exchanged[s].shard;
    tables_.store_of(shard).end(shard, step);
  }
}

}  // namespace shardmark::workloads
