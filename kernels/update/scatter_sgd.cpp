// SPDX-License-Identifier: Apache-2.0
#include "kernels/update/scatter_sgd.hpp"

#include <atomic>

#include "kernels/instantiate.hpp"
#include "kernels/lookup/column_blocks.hpp"
#include "kernels/prefetch.hpp"

namespace shardmark::kernels {

template <class Exec>
struct ScatterSgd {
  static constexpr std::int64_t grain = 2048, ahead = 8;
  static constexpr int lock_bits = 12;

  ConstArray<Exec, std::int64_t> keys, gradient_offset;
  ConstArray<Exec, float> weights, gradients;
  ShardList<Exec, UpdateShard> list;
  Array<Exec, std::uint32_t> locks;

  /// Updates the rows of the positions of one range, in runs of one shard.
  KOKKOS_FUNCTION void operator()(std::int64_t range) const {
    std::int64_t i = range * grain;
    const std::int64_t end = Kokkos::min(i + grain, static_cast<std::int64_t>(keys.extent(0)));
    while (i < end) {
      const std::int64_t s = list.find(keys(i));
      const std::int64_t first = list.shards(s).first_key;
      std::int64_t stop = i + 1;
      while (stop < end && keys(stop) >= first && (s + 1 == list.count() || keys(stop) < list.shards(s + 1).first_key))
        ++stop;
      with_dim(list.shards(s).dim, [&](auto dim) { run(list.shards(s), dim, i, stop); });
      i = stop;
    }
  }

 private:
  template <class Dim>
  KOKKOS_FORCEINLINE_FUNCTION float* row(const UpdateShard& shard, Dim dim, std::int64_t i) const {
    return static_cast<float*>(shard.rows) + (keys(i) - shard.first_key) * dim;
  }

  template <class Dim>
  KOKKOS_FORCEINLINE_FUNCTION void run(const UpdateShard& shard, Dim dim, std::int64_t begin, std::int64_t end) const {
    const bool weighted = weights.extent(0) > 0;
    for (std::int64_t i = begin; i < Kokkos::min(begin + ahead, end); ++i)
      prefetch(row(shard, dim, i), dim * std::int64_t{sizeof(float)});
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t next = Kokkos::min(i + ahead, end - 1);
      prefetch(row(shard, dim, next), dim * std::int64_t{sizeof(float)});
      prefetch(&gradients(gradient_offset(next)), dim * std::int64_t{sizeof(float)});
      const float factor = -shard.optimizer.learning_rate * (weighted ? weights(i) : 1.0F);
      add(row(shard, dim, i), dim, factor, &gradients(gradient_offset(i)), keys(i));
    }
  }

  /// Adds factor g to w: by one thread at a time on the host, element by element on a device.
  template <class Dim>
  KOKKOS_FORCEINLINE_FUNCTION void add(float* w, Dim dim, float factor, const float* g,
                                       [[maybe_unused]] std::int64_t key) const {
    KOKKOS_IF_ON_HOST(({
      const std::atomic_ref lock(locks(static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15ULL >> (64 - lock_bits)));
      while (lock.exchange(1, std::memory_order_acquire) != 0) {
      }
      for (std::int64_t c = 0; c < dim; c += simd_width)
        store_simd(w + c, fused(factor, load_simd(g + c, dim - c), load_simd(w + c, dim - c)), dim - c);
      lock.store(0, std::memory_order_release);
    }))
    KOKKOS_IF_ON_DEVICE((for (std::int64_t c = 0; c < dim; ++c) Kokkos::atomic_add(w + c, factor * g[c]);))
  }
};

template <class Exec>
void scatter_sgd(const Exec& exec, ConstArray<Exec, std::int64_t> keys, ConstArray<Exec, std::int64_t> gradient_offset,
                 ConstArray<Exec, float> weights, ConstArray<Exec, float> gradients,
                 const ShardList<Exec, UpdateShard>& shards, ScatterWorkspace<Exec>& workspace) {
  using Kernel = ScatterSgd<Exec>;
  constexpr std::size_t lock_count = std::size_t{1} << Kernel::lock_bits;
  if (workspace.locks.extent(0) == 0) workspace.locks = Array<Exec, std::uint32_t>("shardmark::row_locks", lock_count);
  const auto positions = static_cast<std::int64_t>(keys.extent(0));
  Kokkos::parallel_for("shardmark::scatter_sgd", dynamic_range(exec, (positions + Kernel::grain - 1) / Kernel::grain),
                       Kernel{keys, gradient_offset, weights, gradients, shards, workspace.locks});
}

SHARDMARK_INSTANCE(scatter_sgd<DefaultSpace>)

}  // namespace shardmark::kernels
