// SPDX-License-Identifier: Apache-2.0
#include "kernels/sort/shard_segments.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/sort/balanced_ranges.hpp"

namespace shardmark::kernels {

template <class Exec>
void find_shards(const Exec& exec, const UniqueRows<Exec>& unique, ConstArray<Exec, std::int64_t> first_keys,
                 Array<Exec, std::int64_t> begins) {
  Kokkos::parallel_for(
      "shardmark::find_shards", static_range(exec, static_cast<std::int64_t>(begins.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t s) {
        begins(s) = first_at_least(unique.count(), first_keys(s), [&](std::int64_t u) { return unique.key(u); });
      });
}

template <class Exec, class Ids>
void list_row_ids(const Exec& exec, const UniqueRows<Exec>& unique, std::int64_t first_row,
                  ConstArray<Exec, std::int64_t> first_keys, const Ids& ids) {
  constexpr std::int64_t block_size = items_in_a_row<Exec>;
  const auto shards = static_cast<std::int64_t>(first_keys.extent(0)), rows = static_cast<std::int64_t>(ids.extent(0));
  Kokkos::parallel_for(
      "shardmark::list_row_ids", static_range(exec, (rows + block_size - 1) / block_size),
      KOKKOS_LAMBDA(const std::int64_t block) {
        const std::int64_t begin = block * block_size, end = Kokkos::min(rows, begin + block_size);
        RangeWalk shard(first_keys.data(), shards, unique.key(first_row + begin));
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t key = unique.key(first_row + i);
          ids(i) = static_cast<typename Ids::value_type>(key - first_keys(shard.to(key)));
        }
      });
}

SHARDMARK_INSTANCE(find_shards<DefaultSpace>)
SHARDMARK_INSTANCE(list_row_ids<DefaultSpace, Array<DefaultSpace, std::int32_t>>)
SHARDMARK_INSTANCE(list_row_ids<DefaultSpace, Array<DefaultSpace, std::int64_t>>)

}  // namespace shardmark::kernels
