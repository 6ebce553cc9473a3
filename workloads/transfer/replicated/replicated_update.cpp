// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/replicated/replicated_update.hpp"

#include <algorithm>

#include "comm/collectives.hpp"
#include "comm/placement/traffic/replicated_gradients.hpp"

namespace shardmark::workloads {

ReplicatedUpdate::ReplicatedUpdate(const comm::Communicator& comm, comm::Lane& lane, const ShardedTables& tables,
                                   const ShardLayout& layout, const std::vector<bool>& gathered, comm::SentBytes& sent)
    : comm_(comm), lane_(lane), tables_(tables), sent_(sent), gather_(comm, lane, sent) {
  add_replicas(layout, Way::dense, gathered);
  first_gathered_ = rows_.shards.size();
  add_replicas(layout, Way::gathered, gathered);
  std::vector<std::int64_t> gathered_dims, gathered_keys;
  for (std::size_t k = first_gathered_; k < rows_.shards.size(); ++k) {
    gathered_dims.push_back(rows_.shards[k].dim);
    gathered_keys.push_back(rows_.shards[k].first_key);
  }
  gathered_keys.push_back(keys_);
  gather_.place(gathered_dims, gathered_keys);
  add_replicas(layout, Way::by_parts, gathered);
  rows_.list = kernels::shard_list(Execution(), rows_.shards);
  updates_.emplace(tables, replicas_);
  add_parts();
  dense_ = kernels::allocate<Execution, float>("shardmark::dense_gradients",
                                               parts_.empty() ? rows_.end() : parts_.back().end());
}

ReplicatedUpdate::Way ReplicatedUpdate::way(std::int64_t shard, std::int64_t table,
                                            const std::vector<bool>& gathered) const {
  if (tables_.store_of(shard).has_parts()) return Way::by_parts;
  return !gathered.empty() && gathered[table] ? Way::gathered : Way::dense;
}

/// Only the dense ones take part of the dense sums; the others' places are not in memory, or found in every step.
void ReplicatedUpdate::add_replicas(const ShardLayout& layout, Way wanted, const std::vector<bool>& gathered) {
  for (const std::int64_t s : layout.replicas) {
    const LocalShard& shard = layout.shards[s];
    if (way(s, shard.table, gathered) != wanted) continue;
    replicas_.push_back({s, keys_});
    rows_.shards.push_back({.first_key = keys_,
                            .dim = wanted == Way::by_parts ? 0 : shard.dim(),
                            .output = wanted == Way::dense ? rows_.elements : 0,
                            .first_unique = wanted == Way::dense ? -1 : 0});
    keys_ += shard.rows.count();
    if (wanted != Way::dense) continue;
    rows_.elements += shard.rows.count() * shard.dim();
    ring_bytes_ += placement::ring_bytes(shard.rows.count() * (shard.dim() + 1), comm_.size());
    rows_.keys = keys_;
  }
}

void ReplicatedUpdate::add_parts() {
  std::int64_t begin = rows_.end();
  for (const auto& updates : updates_->by_store()) {
    PartSums sums;
    sums.begin = begin;
    sums.updates = updates.get();
    for (const KeyedPart& part : updates->parts()) {
      sums.shards.push_back({.first_key = part.first_key, .dim = part.dim, .output = sums.elements});
      sums.elements += part.rows * part.dim;
      ring_bytes_ += placement::ring_bytes(part.rows * (part.dim + 1), comm_.size());
      sums.keys += part.rows;
    }
    if (sums.keys == 0) continue;
    begin = sums.end();
    sums.list = kernels::shard_list(Execution(), sums.shards);
    parts_.push_back(std::move(sums));
  }
}

std::int64_t ReplicatedUpdate::first_key(std::int64_t shard) const {
  return std::ranges::find(replicas_, shard, &KeyedShard::shard)->first_key;
}

void ReplicatedUpdate::reduce(const Positions& positions) {
  const Execution exec;
  own_ = kernels::sorted_row_gradients<Execution>(exec, positions.keys, keys_, positions.gradient_offsets,
                                                  positions.weights, positions.gradients, unique_workspace_);
  if (!gather_.empty()) {
    gather_.count(own_->unique);
    place_packed();
  }
  const auto reduce = [&](const RowGradients& gradients, const DenseSums& sums, const DeviceArray<float>& packed) {
    const std::int64_t counts = sums.begin + sums.elements;
    kernels::reduce_to_dense(exec, gradients, sums.list, gradients_workspace_, part(dense_, sums.begin, counts),
                             part(dense_, counts, sums.end()), packed);
  };
  if (rows_.keys > 0 || !gather_.empty()) reduce(*own_, rows_, gather_.packed());
  for (const PartSums& sums : parts_) reduce(sums.updates->part_gradients(*own_), sums, {});
  exec.fence("shardmark: gradients of replicated tables are sent");
  if (dense_.extent(0) > 0) reduce_dense();
  if (gather_.empty()) return;
  const auto all = gather_.gather(own_->unique);
  gathered_ = kernels::sorted_row_gradients<Execution>(exec, all.keys, keys_, all.gradient_offsets,
                                                       DeviceArray<float>(), all.gradients, gathered_workspace_);
}

/// The gathered tables' gradients of this step are packed, one behind the other.
void ReplicatedUpdate::place_packed() {
  for (std::size_t k = 0; k < gather_.tables(); ++k) {
    rows_.shards[first_gathered_ + k].output = gather_.packed_at(k);
    rows_.shards[first_gathered_ + k].first_unique = gather_.first_unique(k);
  }
  rows_.list.shards = device_shards_.holding(Execution(), rows_.shards);
}

void ReplicatedUpdate::reduce_dense() {
  lane_.run([&] { comm::all_reduce(comm_, std::span<float>(dense_.data(), dense_.extent(0)), comm::Reduce::sum); });
  sent_.add((comm_.rank() + 1) % comm_.size(), ring_bytes_);
  if (rows_.keys > 0) find_touched(rows_);
  for (PartSums& sums : parts_) find_touched(sums);
}

void ReplicatedUpdate::find_touched(DenseSums& sums) {
  const std::int64_t counts = sums.begin + sums.elements;
  const auto rows = kernels::touched_rows<Execution>(Execution(), part(dense_, counts, sums.end()), sums.list,
                                                     sums.elements, sums.workspace);
  sums.reduced = RowGradients{rows, {}, {}, part(dense_, sums.begin, counts)};
}

void ReplicatedUpdate::apply(const kernels::UpdateStep& now) {
  if (rows_.reduced) updates_->run(*rows_.reduced, now);
  if (gathered_) updates_->run(*gathered_, now);
  for (PartSums& sums : parts_) sums.updates->update_parts(*sums.reduced, now);
}

std::vector<RowGradients> ReplicatedUpdate::sums() const {
  std::vector<RowGradients> sums;
  if (rows_.reduced) sums.push_back(*rows_.reduced);
  if (gathered_) sums.push_back(*gathered_);
  for (const PartSums& of_store : parts_) sums.push_back(*of_store.reduced);
  return sums;
}

std::vector<RowGradients> ReplicatedUpdate::updated_rows() const {
  std::vector<RowGradients> rows;
  if (rows_.reduced) rows.push_back(*rows_.reduced);
  if (gathered_) rows.push_back(*gathered_);
  if (!parts_.empty()) rows.push_back(*own_);
  return rows;
}

}  // namespace shardmark::workloads
