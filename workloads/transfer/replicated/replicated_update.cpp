// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/replicated/replicated_update.hpp"

#include <algorithm>

#include "comm/collectives.hpp"
#include "workloads/step/commit_fault.hpp"

namespace shardmark {
namespace {

/// result[p] = keys[p] - from[k] + to[k] for the table k of the key; from: ascending.
void renumber(const ConstDeviceArray<std::int64_t>& keys, const ConstDeviceArray<std::int64_t>& from,
              const ConstDeviceArray<std::int64_t>& to, const DeviceArray<std::int64_t>& result) {
  const auto tables = static_cast<std::int64_t>(from.extent(0));
  Kokkos::parallel_for(
      "shardmark::renumber", kernels::static_range(Execution(), static_cast<std::int64_t>(keys.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t p) {
        const std::int64_t k = kernels::last_at_most(tables, keys(p), [&](std::int64_t i) { return from(i); });
        result(p) = keys(p) - from(k) + to(k);
      });
}

}  // namespace

ReplicatedUpdate::ReplicatedUpdate(const Communicator& comm, Lane& lane, const ShardedTables& tables,
                                   const ShardLayout& layout, ReplicatedGradients how, SentBytes& sent)
    : comm_(comm),
      lane_(lane),
      sent_(sent),
      undecided_(how == ReplicatedGradients::automatic),
      gather_(comm, lane, sent) {
  const auto& shards = layout.shards;
  for (std::int64_t s = 0; s < std::ssize(shards); ++s) {
    const LocalShard& shard = shards[s];
    if (!shard.replicated) continue;
    shards_.push_back({.rows = shard.rows.count(),
                       .first_key = keys_,
                       .by_rows = how == ReplicatedGradients::rows,
                       .update = tables.update_shard(s, 0)});
    keys_ += shard.rows.count();
  }
  place();
}

/// Numbers the rows and says where their gradients go.
void ReplicatedUpdate::place() {
  dense_keys_ = dense_elements_ = 0;
  stores_.clear();
  std::vector<kernels::UpdateShard> updates;
  std::vector<std::int64_t> gathered_dims, gathered_keys;
  std::int64_t key = 0;
  for (const bool by_rows : {false, true}) {
    for (Replica& replica : shards_) {
      if (replica.by_rows != by_rows) continue;
      kernels::UpdateShard& update = replica.update;
      update.first_key = key;
      updates.push_back(update);
      stores_.push_back({.first_key = key, .dim = update.dim, .output = dense_elements_});
      if (by_rows) {
        gathered_dims.push_back(update.dim);
        gathered_keys.push_back(key);
      } else {
        dense_elements_ += replica.rows * update.dim;
        dense_keys_ += replica.rows;
      }
      key += replica.rows;
    }
  }
  gathered_keys.push_back(key);
  std::vector<std::int64_t> from, to;
  for (const Replica& replica : shards_) {
    from.push_back(replica.first_key);
    to.push_back(replica.update.first_key);
  }
  renumbers_ = from != to;
  const Execution exec;
  first_keys_ = kernels::array_of(exec, from, "shardmark::replicated_first_keys");
  renumbered_first_keys_ = kernels::array_of(exec, to, "shardmark::replicated_first_keys");
  update_list_ = kernels::shard_list(exec, updates);
  store_list_ = {device_stores_.holding(exec, stores_), update_list_.largest_dim};
  dense_ = {};
  dense_ = kernels::allocate<Execution, float>("shardmark::dense_gradients", dense_elements_ + dense_keys_);
  gather_.place(gathered_dims, gathered_keys);
}

void ReplicatedUpdate::decide(const ConstDeviceArray<std::int64_t>& keys) {
  const auto unique = kernels::unique_rows<Execution>({}, keys, keys_, unique_workspace_);
  std::vector<std::int64_t> first_keys;
  for (const Replica& replica : shards_) first_keys.push_back(replica.first_key);
  first_keys.push_back(keys_);
  const auto begins = ShardSegments(first_keys)(unique);
  std::vector<std::int64_t> named;
  for (std::size_t k = 0; k < shards_.size(); ++k) named.push_back(begins[k + 1] - begins[k]);
  lane_.run([&] { all_reduce(comm_, std::span(named), Reduce::max); });
  for (std::size_t k = 0; k < shards_.size(); ++k)
    shards_[k].by_rows = fewer_bytes_by_rows(shards_[k].rows, shards_[k].update.dim, comm_.size(), named[k]);
  place();
}

void ReplicatedUpdate::run(const Lookups& lookups, const kernels::UpdateStep& now, Fault fault) {
  const Execution exec;
  if (!empty() && std::exchange(undecided_, false)) decide(lookups.keys);
  ConstDeviceArray<std::int64_t> keys = lookups.keys;
  if (renumbers_) {
    const auto renumbered = renumbered_keys_.first(static_cast<std::int64_t>(keys.extent(0)));
    renumber(keys, first_keys_, renumbered_first_keys_, renumbered);
    keys = renumbered;
  }
  const auto gradients = kernels::sorted_row_gradients<Execution>(
      exec, keys, keys_, lookups.gradient_offsets, lookups.weights, lookups.gradients, unique_workspace_);
  if (!gather_.empty()) {
    gather_.count(gradients.unique);
    place_packed();
  }
  kernels::reduce_to_dense(exec, gradients, store_list_, gradients_workspace_, part(dense_, 0, dense_elements_),
                           part(dense_, dense_elements_, dense_elements_ + dense_keys_), gather_.packed());
  exec.fence("shardmark: gradients of replicated tables are sent");
  if (dense_keys_ > 0) update_dense(now, fault);
  if (!gather_.empty()) update_by_rows(gradients.unique, now, fault);
}

/// The gathered tables' gradients of this step are packed.
void ReplicatedUpdate::place_packed() {
  const std::size_t first = stores_.size() - gather_.tables();
  for (std::size_t k = 0; k < gather_.tables(); ++k) {
    stores_[first + k].output = gather_.packed_at(k);
    stores_[first + k].first_unique = gather_.first_unique(k);
  }
  store_list_.shards = device_stores_.holding(Execution(), stores_);
}

void ReplicatedUpdate::update_dense(const kernels::UpdateStep& now, Fault fault) {
  const Execution exec;
  const auto elements = static_cast<std::int64_t>(dense_.extent(0));
  lane_.run(
      [&] { all_reduce(comm_, std::span<float>(dense_.data(), static_cast<std::size_t>(elements)), Reduce::sum); });
  // A ring sends 2 (P - 1) / P of the buffer to the next rank.
  sent_.add(static_cast<std::size_t>((comm_.rank() + 1) % comm_.size()),
            2 * (comm_.size() - 1) * elements * 4 / comm_.size());
  if (fault == Fault::exchange) change_one(dense_, 0, -1.0F, 1.0F);
  const auto rows = kernels::touched_rows<Execution>(exec, part(dense_, dense_elements_, dense_elements_ + dense_keys_),
                                                     store_list_, dense_elements_, touched_workspace_);
  if (fault == Fault::update) decrement(rows.total);
  kernels::fused_update<Execution>(exec, {rows, {}, {}, dense_}, update_list_, now, gradients_workspace_);
}

void ReplicatedUpdate::update_by_rows(const kernels::UniqueRows<Execution>& own, const kernels::UpdateStep& now,
                                      Fault fault) {
  const Execution exec;
  const auto all = gather_.gather(own);
  if (fault == Fault::exchange && all.gradients.extent(0) > 0) change_one(all.gradients, 0, -1.0F, 1.0F);
  const auto gradients = kernels::sorted_row_gradients<Execution>(
      exec, all.keys, keys_, all.gradient_offsets, DeviceArray<float>(), all.gradients, unique_workspace_);
  if (fault == Fault::update) decrement(gradients.unique.total);
  kernels::fused_update(exec, gradients, update_list_, now, gradients_workspace_);
}

}  // namespace shardmark
