// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/replicated/replicated_update.hpp"

#include <algorithm>

#include "comm/collectives.hpp"

namespace shardmark {

ReplicatedUpdate::ReplicatedUpdate(const Communicator& comm, Lane& lane, const ShardedTables& tables,
                                   const ShardLayout& layout, const std::vector<bool>& gathered, SentBytes& sent)
    : comm_(comm), lane_(lane), sent_(sent), gather_(comm, lane, sent) {
  std::vector<std::int64_t> gathered_dims, gathered_keys;
  std::int64_t largest_dim = 0;
  for (const bool by_rows : {false, true}) {
    for (std::int64_t s = 0; s < std::ssize(layout.shards); ++s) {
      const LocalShard& shard = layout.shards[s];
      if (!shard.replicated || (!gathered.empty() && gathered[shard.table]) != by_rows) continue;
      const std::int64_t rows = shard.rows.count(), dim = shard.dim();
      replicas_.push_back({s, keys_});
      sums_.push_back({.first_key = keys_, .dim = dim, .output = dense_elements_});
      if (by_rows) {
        gathered_dims.push_back(dim);
        gathered_keys.push_back(keys_);
      } else {
        dense_elements_ += rows * dim;
        dense_keys_ += rows;
      }
      keys_ += rows;
      largest_dim = std::max(largest_dim, dim);
    }
  }
  gathered_keys.push_back(keys_);
  gather_.place(gathered_dims, gathered_keys);
  sum_list_ = {device_sums_.holding(Execution(), sums_), largest_dim};
  updates_.emplace(tables, replicas_);
  dense_ = kernels::allocate<Execution, float>("shardmark::dense_gradients", dense_elements_ + dense_keys_);
}

std::int64_t ReplicatedUpdate::first_key(std::int64_t shard) const {
  return std::ranges::find(replicas_, shard, &KeyedShard::shard)->first_key;
}

void ReplicatedUpdate::reduce(const Positions& positions) {
  const Execution exec;
  const auto own = kernels::sorted_row_gradients<Execution>(exec, positions.keys, keys_, positions.gradient_offsets,
                                                            positions.weights, positions.gradients, unique_workspace_);
  if (!gather_.empty()) {
    gather_.count(own.unique);
    place_packed();
  }
  kernels::reduce_to_dense(exec, own, sum_list_, gradients_workspace_, part(dense_, 0, dense_elements_),
                           part(dense_, dense_elements_, dense_elements_ + dense_keys_), gather_.packed());
  exec.fence("shardmark: gradients of replicated tables are sent");
  if (dense_keys_ > 0) reduce_dense();
  if (gather_.empty()) return;
  const auto all = gather_.gather(own.unique);
  gathered_ = kernels::sorted_row_gradients<Execution>(exec, all.keys, keys_, all.gradient_offsets,
                                                       DeviceArray<float>(), all.gradients, unique_workspace_);
}

/// The gathered tables' gradients of this step are packed, one behind the other.
void ReplicatedUpdate::place_packed() {
  const std::size_t first = sums_.size() - gather_.tables();
  for (std::size_t k = 0; k < gather_.tables(); ++k) {
    sums_[first + k].output = gather_.packed_at(k);
    sums_[first + k].first_unique = gather_.first_unique(k);
  }
  sum_list_.shards = device_sums_.holding(Execution(), sums_);
}

void ReplicatedUpdate::reduce_dense() {
  const Execution exec;
  const auto elements = static_cast<std::int64_t>(dense_.extent(0));
  lane_.run([&] { all_reduce(comm_, std::span<float>(dense_.data(), dense_.extent(0)), Reduce::sum); });
  // A ring sends 2 (P - 1) / P of the buffer to the next rank.
  sent_.add((comm_.rank() + 1) % comm_.size(), 2 * (comm_.size() - 1) * elements * 4 / comm_.size());
  const auto rows = kernels::touched_rows<Execution>(exec, part(dense_, dense_elements_, dense_elements_ + dense_keys_),
                                                     sum_list_, dense_elements_, touched_workspace_);
  reduced_ = RowGradients{rows, {}, {}, dense_};
}

void ReplicatedUpdate::apply(const kernels::UpdateStep& now) {
  if (reduced_) updates_->run(*reduced_, now);
  if (gathered_) updates_->run(*gathered_, now);
}

}  // namespace shardmark
