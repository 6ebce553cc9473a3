// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/sharded_tables.hpp"

#include <algorithm>

namespace shardmark::workloads {

ShardedTables::ShardedTables(const placement::Plan& plan, const std::vector<Table>& tables,
                             const std::vector<Feature>& features, int rank)
    : tables_(tables),
      features_(features),
      layout_(plan, tables, features, rank),
      store_numbers_(layout_.shards.size()) {
  for (const StorageMaker& maker : storage_makers()) {
    std::vector<std::int64_t> shards;
    for (std::int64_t s = 0; s < std::ssize(layout_.shards); ++s)
      if (tables_[layout_.shards[s].table].storage == maker.storage) shards.push_back(s);
    if (shards.empty()) continue;
    for (const std::int64_t s : shards) store_numbers_[s] = stores_.size();
    stores_.push_back(maker.make(layout_, tables_, shards));
    storages_.push_back(maker.storage);
  }
}

void ShardedTables::fill(const RowValues& initial) {
  step_ = {.number = 0, .seed = initial.seed};
  for (const auto& store : stores_) store->fill(initial);
}

void ShardedTables::keep_rows() {
  for (const auto& store : stores_) store->keep_rows();
}

void ShardedTables::let_go() {
  for (const auto& store : stores_) store->let_go();
}

double ShardedTables::huge_page_share() const {
  double share = 1.0;
  for (const auto& store : stores_) share = std::min(share, store->huge_page_share());
  return share;
}

void ShardedTables::report(Storage storage, std::span<std::int64_t> numbers) const {
  for (std::size_t s = 0; s < stores_.size(); ++s)
    if (storages_[s] == storage) stores_[s]->report(numbers);
}

TableLookups::TableLookups(const ShardedTables& tables, const std::vector<std::int64_t>& shards) : tables_(tables) {
  for (const auto& store : tables.stores()) parts_.push_back({store->lookups(shards), {}});
}

void TableLookups::set(const std::vector<BagBlock>& blocks) {
  for (Part& part : parts_) part.blocks.clear();
  for (const BagBlock& block : blocks) parts_[tables_.store_number(block.shard)].blocks.push_back(block);
  for (Part& part : parts_) part.lookups->set(part.blocks);
  pools_by_max_ = std::ranges::find(blocks, Pooling::max, &BagBlock::pooling) != blocks.end();
}

void TableLookups::run(const BagIds& bags, const DeviceArray<float>& output) {
  for (Part& part : parts_)
    if (!part.blocks.empty()) part.lookups->run(bags, output);
}

void TableLookups::max_gradients(const BagIds& bags, const ConstDeviceArray<float>& pooled,
                                 const ConstDeviceArray<float>& gradients, const DeviceArray<float>& id_gradients) {
  for (Part& part : parts_)
    if (!part.blocks.empty()) part.lookups->max_gradients(bags, pooled, gradients, id_gradients);
}

void TableLookups::report(Storage storage, std::span<std::int64_t> numbers) const {
  for (std::size_t p = 0; p < parts_.size(); ++p)
    if (!parts_[p].blocks.empty() && tables_.storage_of_store(p) == storage) parts_[p].lookups->report(numbers);
}

TableUpdates::TableUpdates(const ShardedTables& tables, const std::vector<KeyedShard>& shards) : tables_(tables) {
  for (const auto& store : tables.stores()) parts_.push_back(store->updates(shards));
}

void TableUpdates::row_sums(const RowGradients& gradients, const kernels::UpdateStep& now,
                            const DeviceArray<double>& sums, std::int64_t width) {
  for (const auto& part : parts_) part->row_sums(gradients, now, sums, width);
}

void TableUpdates::run(const RowGradients& gradients, const kernels::UpdateStep& now,
                       const kernels::RowSums<Execution>& whole_rows) {
  for (const auto& part : parts_) part->run(gradients, now, whole_rows);
}

std::int64_t TableUpdates::row_bytes(const kernels::UniqueRows<Execution>& unique) const {
  std::int64_t bytes = 0;
  for (const auto& part : parts_) bytes += part->count(unique).bytes;
  return bytes;
}

void TableUpdates::report(Storage storage, std::span<std::int64_t> numbers) const {
  for (std::size_t p = 0; p < parts_.size(); ++p)
    if (tables_.storage_of_store(p) == storage) parts_[p]->report(numbers);
}

}  // namespace shardmark::workloads
