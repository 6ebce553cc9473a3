// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/replicated/replicated_update.hpp"

#include "comm/collectives.hpp"

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
                                   const ShardLayout& layout, const std::vector<bool>& gathered, SentBytes& sent)
    : comm_(comm), lane_(lane), sent_(sent), gather_(comm, lane, sent) {
  for (std::int64_t s = 0; s < std::ssize(layout.shards); ++s) {
    const LocalShard& shard = layout.shards[s];
    if (!shard.replicated) continue;
    const bool by_rows = !gathered.empty() && gathered[shard.table];
    replicas_.push_back({s, shard.rows.count(), shard.dim(), keys_, by_rows, 0});
    keys_ += shard.rows.count();
  }
  number_rows();
  std::vector<KeyedShard> keyed;
  for (const bool by_rows : {false, true})
    for (const Replica& replica : replicas_)
      if (replica.gathered == by_rows) keyed.push_back({replica.shard, replica.first_key});
  updates_.emplace(tables, keyed);
  dense_ = kernels::allocate<Execution, float>("shardmark::dense_gradients", dense_elements_ + dense_keys_);
}

/// Keys of the rows, and where their sums go.
void ReplicatedUpdate::number_rows() {
  std::vector<std::int64_t> gathered_dims, gathered_keys, given, first;
  std::int64_t key = 0;
  for (const bool by_rows : {false, true}) {
    for (Replica& replica : replicas_) {
      if (replica.gathered != by_rows) continue;
      replica.first_key = key;
      sums_.push_back({.first_key = key, .dim = replica.dim, .output = dense_elements_});
      if (by_rows) {
        gathered_dims.push_back(replica.dim);
        gathered_keys.push_back(key);
      } else {
        dense_elements_ += replica.rows * replica.dim;
        dense_keys_ += replica.rows;
      }
      key += replica.rows;
    }
  }
  gathered_keys.push_back(key);
  gather_.place(gathered_dims, gathered_keys);
  std::int64_t largest_dim = 0;
  for (const Replica& replica : replicas_) {
    given.push_back(replica.given_key);
    first.push_back(replica.first_key);
    largest_dim = std::max(largest_dim, replica.dim);
  }
  renumbers_ = given != first;
  const Execution exec;
  given_keys_ = kernels::array_of(exec, given, "shardmark::replicated_given_keys");
  first_keys_ = kernels::array_of(exec, first, "shardmark::replicated_first_keys");
  sum_list_ = {device_sums_.holding(exec, sums_), largest_dim};
}

void ReplicatedUpdate::reduce(const Positions& positions) {
  const Execution exec;
  ConstDeviceArray<std::int64_t> keys = positions.keys;
  if (renumbers_) {
    const auto renumbered = renumbered_keys_.first(static_cast<std::int64_t>(keys.extent(0)));
    renumber(keys, given_keys_, first_keys_, renumbered);
    keys = renumbered;
  }
  const auto own = kernels::sorted_row_gradients<Execution>(exec, keys, keys_, positions.gradient_offsets,
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

std::array<DeviceArray<std::int64_t>, 2> ReplicatedUpdate::totals() const {
  return {reduced_ ? reduced_->unique.total : DeviceArray<std::int64_t>(),
          gathered_ ? gathered_->unique.total : DeviceArray<std::int64_t>()};
}

}  // namespace shardmark
