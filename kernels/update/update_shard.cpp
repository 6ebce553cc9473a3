// SPDX-License-Identifier: Apache-2.0
#include "kernels/update/update_shard.hpp"

#include "kernels/instantiate.hpp"

namespace shardmark::kernels {

template <class Exec>
RowElements row_elements(const Exec& exec, const UniqueRows<Exec>& unique, const ShardList<Exec, UpdateShard>& list) {
  RowElements total;
  Kokkos::Array<std::int64_t, optimizers.size()> vectors, scalars;  // devices do not have the table of optimizers
  for (const OptimizerChoice& optimizer : optimizers) {
    vectors[index_of(optimizer.value)] = optimizer.vectors;
    scalars[index_of(optimizer.value)] = optimizer.scalars;
  }
  Kokkos::parallel_reduce(
      "shardmark::row_elements", static_range(exec, unique.positions()),
      KOKKOS_LAMBDA(const std::int64_t u, std::int64_t& rows, std::int64_t& values, std::int64_t& bytes,
                    std::int64_t& state) {
        if (u >= unique.count()) return;
        const auto& shard = list.shards(list.find(unique.key(u)));
        ++rows;
        values += shard.dim;
        bytes += row_bytes(shard.value_type, shard.dim);
        const std::size_t kind = index_of(shard.optimizer.kind);
        state += vectors[kind] * shard.dim + scalars[kind];
      },
      total.rows, total.values, total.bytes, total.state);
  return total;
}

SHARDMARK_INSTANCE(row_elements<DefaultSpace>)

}  // namespace shardmark::kernels
