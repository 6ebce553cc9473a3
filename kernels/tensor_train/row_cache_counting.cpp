// SPDX-License-Identifier: Apache-2.0
#include "kernels/instantiate.hpp"
#include "kernels/tensor_train/cached_slot.hpp"
#include "kernels/tensor_train/count_slots.hpp"

namespace shardmark::kernels {

/// Sums of integers, which atomic additions make in any order.
template <class Exec>
void count_uses(const Exec& exec, const RowCacheArrays<Exec>& cache, const ConstArray<Exec, std::int64_t>& slots) {
  constexpr std::int64_t block_size = on_device<Exec> ? 1 : 512;
  constexpr std::int64_t ahead = 16;  // what is added to comes meanwhile: an atomic addition waits for all reads
  const auto n = static_cast<std::int64_t>(slots.extent(0));
  Kokkos::parallel_for(
      "shardmark::cache_count_uses", static_range(exec, (n + block_size - 1) / block_size),
      KOKKOS_LAMBDA(const std::int64_t block) {
        const std::int64_t begin = block * block_size, end = Kokkos::min(n, begin + block_size);
        RowCacheCounts counts;
        for (std::int64_t i = begin; i < end; ++i) {
          if (i + ahead < end && slots(i + ahead) >= 0) prefetch_to_write(cache.uses.data() + slots(i + ahead));
          const std::int64_t slot = slots(i);
          counts.hits += slot >= 0;
          counts.stale += slot < row_not_cached;
          if (slot != row_not_cached)
            Kokkos::atomic_add(&cache.uses(slot >= 0 ? slot : stale_slot(slot)), std::int64_t{1});
        }
        RowCacheCounts& sums = cache.counts(0);
        Kokkos::atomic_add(&sums.hits, counts.hits);
        Kokkos::atomic_add(&sums.stale, counts.stale);
        Kokkos::atomic_add(&sums.misses, end - begin - counts.hits - counts.stale);
      });
}

template <class Exec>
void RowCacheDirectory<Exec>::count_found(const Exec& exec, ConstArray<Exec, std::int64_t> slots) {
  count_uses(exec, arrays_, slots);
}

/// order[i] = place of the i-th smallest row.
template <class Exec>
void list_places(const Exec& exec, const UniqueRows<Exec>& unique, const Array<Exec, std::int64_t>& order) {
  Kokkos::parallel_for(
      "shardmark::cache_missed_order", static_range(exec, unique.positions()),
      KOKKOS_LAMBDA(const std::int64_t i) { order(i) = unique.position(i); });
}

/// sets[i] = that of rows[order[i]].
template <class Exec>
void list_sets(const Exec& exec, const RowCacheShape& shape, const ConstArray<Exec, std::int64_t>& rows,
               const ConstArray<Exec, std::int64_t>& order, const Array<Exec, std::int64_t>& sets) {
  Kokkos::parallel_for(
      "shardmark::cache_missed_sets", static_range(exec, static_cast<std::int64_t>(rows.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { sets(i) = shape.set_of(rows(order.extent(0) > 0 ? order(i) : i)); });
}

/// A thread a set, its rows ascending.
template <class Exec>
void count_by_set(const Exec& exec, const RowCacheArrays<Exec>& cache, const UniqueRows<Exec>& by_set,
                  const ConstArray<Exec, std::int64_t>& rows, const ConstArray<Exec, std::int64_t>& uses) {
  Kokkos::parallel_for(
      "shardmark::cache_count_missed", static_range(exec, by_set.positions()), KOKKOS_LAMBDA(const std::int64_t u) {
        if (u >= by_set.count()) return;
        const CountSlots slots = count_slots(cache, by_set.key(u));
        for (std::int64_t i = by_set.begin(u); i < by_set.begin(u + 1); ++i) {
          const std::int64_t p = by_set.position(i);
          if (slot_of(cache, rows(p)) == row_not_cached && !slots.add(rows(p), uses(p)))
            Kokkos::atomic_add(&cache.counts(0).drops, uses(p));
        }
      });
}

template <class Exec>
void RowCacheDirectory<Exec>::count_missed(const Exec& exec, ConstArray<Exec, std::int64_t> rows,
                                           ConstArray<Exec, std::int64_t> uses, bool ascending) {
  const auto n = static_cast<std::int64_t>(rows.extent(0));
  if (n == 0) return;
  const auto order = workspace_.order.first(ascending ? 0 : n), sets = workspace_.sets.first(n);
  if (!ascending) list_places(exec, unique_rows<Exec>(exec, rows, table_rows_, workspace_.by_row), order);
  list_sets<Exec>(exec, shape(), rows, order, sets);
  const auto by_set = unique_rows<Exec>(exec, sets, shape().sets, order, n, workspace_.by_set);
  count_by_set(exec, arrays_, by_set, rows, uses);
}

#define ROW_CACHE_COUNTING_ON(Exec)                                                                \
  template void RowCacheDirectory<Exec>::count_found(const Exec&, ConstArray<Exec, std::int64_t>); \
  template void RowCacheDirectory<Exec>::count_missed(const Exec&, ConstArray<Exec, std::int64_t>, \
                                                      ConstArray<Exec, std::int64_t>, bool);
SHARDMARK_ON_EACH_SPACE(ROW_CACHE_COUNTING_ON)

}  // namespace shardmark::kernels
