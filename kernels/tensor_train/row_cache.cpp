// SPDX-License-Identifier: Apache-2.0
#include "kernels/tensor_train/row_cache.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/tensor_train/cached_slot.hpp"

namespace shardmark::kernels {

template <class Exec, class T>
Array<Exec, T> filled(const Exec& exec, const std::string& label, std::int64_t size, T value) {
  const auto array = allocate<Exec, T>(label, size);
  Kokkos::deep_copy(exec, array, value);
  return array;
}

template <class Exec>
RowCacheDirectory<Exec>::RowCacheDirectory(const RowCacheShape& shape, std::int64_t table_rows, CacheWrites writes)
    : table_rows_(table_rows) {
  const Exec exec;
  const std::int64_t slots = shape.rows(), count_slots = shape.sets * shape.count_slots;
  const std::int64_t versions = writes == CacheWrites::read_only ? slots : 0;
  constexpr std::int64_t none = 0, no_row = row_not_cached;
  arrays_ = {.shape = shape,
             .tags = filled(exec, "shardmark::cache_tags", shape.sets * arrays_.tag_words, std::uint64_t{0}),
             .rows = filled(exec, "shardmark::cached_rows", slots, no_row),
             .uses = filled(exec, "shardmark::cached_uses", slots, none),
             .versions = filled(exec, "shardmark::cached_versions", versions, no_version),
             .counted_rows = filled(exec, "shardmark::counted_rows", count_slots, no_row),
             .counted_uses = filled(exec, "shardmark::counted_uses", count_slots, none),
             .counted = filled(exec, "shardmark::counted_in_set", shape.sets, none),
             .counts = filled(exec, "shardmark::cache_counts", 1, RowCacheCounts{})};
  exec.fence("shardmark: an empty row cache");
}

template <class Exec>
std::int64_t RowCacheDirectory<Exec>::bytes() const {
  const auto bytes = [](const auto&... arrays) { return (std::int64_t{0} + ... + std::int64_t(arrays.span() * 8)); };
  return bytes(arrays_.tags, arrays_.rows, arrays_.uses, arrays_.versions, arrays_.counted_rows, arrays_.counted_uses,
               arrays_.counted);
}

/// A processor looks for a block of rows at a time, so that it waits for the tags and then the ways of all at once.
template <class Exec>
void find_cached(const Exec& exec, const RowCacheArrays<Exec>& cache, const ConstArray<Exec, std::int64_t>& rows,
                 std::int64_t version, const Array<Exec, std::int64_t>& slots) {
  constexpr std::int64_t block_size = on_device<Exec> ? 1 : 32;
  const auto n = static_cast<std::int64_t>(rows.extent(0));
  Kokkos::parallel_for(
      "shardmark::find_cached", static_range(exec, (n + block_size - 1) / block_size),
      KOKKOS_LAMBDA(const std::int64_t block) {
        const std::int64_t begin = block * block_size, count = Kokkos::min(n - begin, std::int64_t{block_size});
        CachedRowSearch searches[block_size];
        for (std::int64_t i = 0; i < count; ++i) searches[i].ask_for_tags(cache, rows(begin + i));
        for (std::int64_t i = 0; i < count; ++i) searches[i].ask_for_rows(cache);
        for (std::int64_t i = 0; i < count; ++i) {
          const std::int64_t slot = searches[i].slot(cache, rows(begin + i));
          const bool stale = slot >= 0 && cache.versions.extent(0) > 0 && cache.versions(slot) != version;
          slots(begin + i) = stale ? stale_slot(slot) : slot;
        }
      });
}

template <class Exec>
void RowCacheDirectory<Exec>::find(const Exec& exec, ConstArray<Exec, std::int64_t> rows, std::int64_t version,
                                   Array<Exec, std::int64_t> slots) const {
  find_cached(exec, arrays_, rows, version, slots);
}

template <class Exec>
void set_versions(const Exec& exec, const Array<Exec, std::int64_t>& versions,
                  const ConstArray<Exec, std::int64_t>& slots, std::int64_t version) {
  Kokkos::parallel_for(
      "shardmark::cached_versions", static_range(exec, static_cast<std::int64_t>(slots.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        if (slots(i) >= 0) versions(slots(i)) = version;
      });
}

template <class Exec>
void RowCacheDirectory<Exec>::set_version(const Exec& exec, ConstArray<Exec, std::int64_t> slots,
                                          std::int64_t version) {
  if (arrays_.versions.extent(0) > 0) set_versions(exec, arrays_.versions, slots, version);
}

template <class Exec>
RowCacheCounts RowCacheDirectory<Exec>::counts(const Exec& exec) const {
  RowCacheCounts counts;
  Kokkos::deep_copy(exec, Kokkos::View<RowCacheCounts, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(&counts),
                    Kokkos::subview(arrays_.counts, 0));
  exec.fence("shardmark: what a row cache has counted");
  return counts;
}

template <class Exec>
std::int64_t split_found(const Exec& exec, ConstArray<Exec, std::int64_t> slots, Array<Exec, std::int64_t> hits,
                         Array<Exec, std::int64_t> misses) {
  constexpr std::int64_t block_size = on_device<Exec> ? 4 : 512;
  const auto n = static_cast<std::int64_t>(slots.extent(0));
  std::int64_t total = 0;
  Kokkos::parallel_scan(
      "shardmark::split_found", static_range(exec, (n + block_size - 1) / block_size),
      KOKKOS_LAMBDA(const std::int64_t block, std::int64_t& missed, const bool final) {
        const std::int64_t begin = block * block_size, end = Kokkos::min(n, begin + block_size);
        std::int64_t before = missed;
        for (std::int64_t p = begin; p < end; ++p) {
          const bool miss = slots(p) < 0;
          if (final && miss) misses(before) = p;
          if (final && !miss) hits(p - before) = p;
          before += miss;
        }
        missed = before;
      },
      total);
  return total;
}

#define ROW_CACHE_ON(Exec)                                                                                       \
  SHARDMARK_INSTANCE(split_found<Exec>)                                                                          \
  template RowCacheDirectory<Exec>::RowCacheDirectory(const RowCacheShape&, std::int64_t, CacheWrites);          \
  template std::int64_t RowCacheDirectory<Exec>::bytes() const;                                                  \
  template void RowCacheDirectory<Exec>::find(const Exec&, ConstArray<Exec, std::int64_t>, std::int64_t,         \
                                              Array<Exec, std::int64_t>) const;                                  \
  template void RowCacheDirectory<Exec>::set_version(const Exec&, ConstArray<Exec, std::int64_t>, std::int64_t); \
  template RowCacheCounts RowCacheDirectory<Exec>::counts(const Exec&) const;
SHARDMARK_ON_EACH_SPACE(ROW_CACHE_ON)

}  // namespace shardmark::kernels
