// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/unique_rows/distinct_rows.hpp"

namespace shardmark {
namespace {

using Unique = kernels::UniqueRows<Execution>;

// Kernels outside the class: nvcc takes no lambda of a kernel in a private function.

template <class Index>
void list_row_ids(const Unique& unique, const ConstDeviceArray<std::int64_t>& first_key,
                  const DeviceArray<Index>& ids) {
  const auto shards = static_cast<std::int64_t>(first_key.extent(0));
  Kokkos::parallel_for(
      "shardmark::row_ids", kernels::static_range(Execution(), static_cast<std::int64_t>(ids.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t u) {
        const std::int64_t key = unique.key(u);
        ids(u) = static_cast<Index>(key - first_key(kernels::last_at_most(shards, key, first_key)));
      });
}

void number_rows(const Unique& unique, const ConstDeviceArray<std::int64_t>& first_key,
                 const ConstDeviceArray<std::int64_t>& shift, const DeviceArray<std::int64_t>& numbers) {
  const auto shards = static_cast<std::int64_t>(first_key.extent(0));
  Kokkos::parallel_for(
      "shardmark::number_rows", kernels::static_range(Execution(), static_cast<std::int64_t>(numbers.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t u) {
        if (u >= unique.count()) return;
        const std::int64_t row = u + shift(kernels::last_at_most(shards, unique.key(u), first_key));
        for (std::int64_t i = unique.begin(u); i < unique.begin(u + 1); ++i) numbers(unique.position(i)) = row;
      });
}

}  // namespace

void count_up(const DeviceArray<std::int64_t>& numbers) {
  Kokkos::parallel_for(
      "shardmark::count_up", kernels::static_range(Execution(), static_cast<std::int64_t>(numbers.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { numbers(i) = i; });
}

void DistinctRows::find(const ConstDeviceArray<std::int64_t>& keys, bool repeated) {
  const Execution exec;
  unique_ = kernels::unique_rows<Execution>(exec, keys, shards_.keys, workspace_);
  if (repeated) {
    unique_.segments = each_.first(unique_.positions() + 1);
    count_up(unique_.segments);
    Kokkos::deep_copy(exec, unique_.total, unique_.positions());
  }
  first_row_ = segments_(unique_);
  packed_begin_.assign(1, 0);
  packed_rows_.host.clear();
  for (std::int64_t s = 0; s < std::ssize(shards_.shards); ++s) {
    const RowShard& shard = shards_.shards[s];
    packed_rows_.host.push_back({shard.first_key, shard.dim, first_row(s), packed_begin(s)});
    packed_begin_.push_back(packed_begin(s) + rows(s) * shard.dim);
  }
  packed_ = packed_rows_.array();
}

void DistinctRows::list_ids(const DeviceArray<std::int64_t>& ids) const {
  list_row_ids(unique_, shards_.first_keys, ids);
}
void DistinctRows::list_ids(const DeviceArray<std::int32_t>& ids) const {
  list_row_ids(unique_, shards_.first_keys, ids);
}

void DistinctRows::number_positions(const ConstDeviceArray<std::int64_t>& shift,
                                    const DeviceArray<std::int64_t>& numbers) const {
  number_rows(unique_, shards_.first_keys, shift, numbers);
}

}  // namespace shardmark
