// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/balanced_ranges.hpp"
#include "kernels/unique_rows.hpp"
#include "workloads/batches/execution.hpp"

namespace shardmark {

/// Where the distinct rows of each shard begin among those of a rank, known to the host.
class ShardSegments {
 public:
  ShardSegments() = default;
  /// first_keys: key of row 0 of each shard, ascending; behind the last, the number of keys.
  explicit ShardSegments(const std::vector<std::int64_t>& first_keys)
      : first_keys_(kernels::array_of(Execution(), first_keys, "shardmark::first_keys")),
        begins_("shardmark::shard_segments", first_keys.size()),
        host_(first_keys.size()) {}

  /// [shards + 1] numbers of distinct rows; valid until the next call. Waits for the device.
  const std::vector<std::int64_t>& operator()(const kernels::UniqueRows<Execution>& unique) {
    const Execution exec;
    const auto first_keys = first_keys_;
    const auto begins = begins_;
    Kokkos::parallel_for(
        "shardmark::shard_segments", kernels::static_range(exec, std::ssize(host_)),
        KOKKOS_LAMBDA(const std::int64_t s) {
          begins(s) =
              kernels::first_at_least(unique.count(), first_keys(s), [&](std::int64_t u) { return unique.key(u); });
        });
    const Kokkos::View<std::int64_t*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> host(host_.data(), host_.size());
    Kokkos::deep_copy(exec, host, begins);
    exec.fence("shardmark: the host reads how many distinct rows each shard has");
    return host_;
  }

 private:
  ConstDeviceArray<std::int64_t> first_keys_;
  DeviceArray<std::int64_t> begins_;
  std::vector<std::int64_t> host_;
};

}  // namespace shardmark
