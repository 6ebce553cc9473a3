// SPDX-License-Identifier: Apache-2.0
#include "kernels/tensor_train/row_cache.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/tensor_train/cached_slot.hpp"
#include "kernels/tensor_train/count_slots.hpp"

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

/// Finds a block of rows at a time, so that a processor waits for the tags and then the ways of all at once.
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

SHARDMARK_INSTANCE(split_found<DefaultSpace>)
template RowCacheDirectory<DefaultSpace>::RowCacheDirectory(const RowCacheShape&, std::int64_t, CacheWrites);
template std::int64_t RowCacheDirectory<DefaultSpace>::bytes() const;
template void RowCacheDirectory<DefaultSpace>::find(const DefaultSpace&, ConstArray<DefaultSpace, std::int64_t>,
                                                    std::int64_t, Array<DefaultSpace, std::int64_t>) const;
template void RowCacheDirectory<DefaultSpace>::set_version(const DefaultSpace&, ConstArray<DefaultSpace, std::int64_t>,
                                                           std::int64_t);
template RowCacheCounts RowCacheDirectory<DefaultSpace>::counts(const DefaultSpace&) const;

/// Sums of integers, which atomic additions make in any order.
template <class Exec>
void count_uses(const Exec& exec, const RowCacheArrays<Exec>& cache, const ConstArray<Exec, std::int64_t>& slots) {
  constexpr std::int64_t block_size = on_device<Exec> ? 16 : 512;
  constexpr std::int64_t ahead = 48;  // what is added to comes meanwhile: an atomic addition waits for all reads
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

/// Sets order[i] to the place of the i-th smallest row.
template <class Exec>
void list_places(const Exec& exec, const UniqueRows<Exec>& unique, const Array<Exec, std::int64_t>& order) {
  Kokkos::parallel_for(
      "shardmark::cache_missed_order", static_range(exec, unique.positions()),
      KOKKOS_LAMBDA(const std::int64_t i) { order(i) = unique.position(i); });
}

/// Sets sets[i] to the set of rows[order[i]].
template <class Exec>
void list_sets(const Exec& exec, const RowCacheShape& shape, const ConstArray<Exec, std::int64_t>& rows,
               const ConstArray<Exec, std::int64_t>& order, const Array<Exec, std::int64_t>& sets) {
  Kokkos::parallel_for(
      "shardmark::cache_missed_sets", static_range(exec, static_cast<std::int64_t>(rows.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { sets(i) = shape.set_of(rows(order.extent(0) > 0 ? order(i) : i)); });
}

/// Prefetches the line of the set of this row where the search for the row begins.
template <class Exec>
KOKKOS_FORCEINLINE_FUNCTION void ask_for_count_slot(const RowCacheArrays<Exec>& cache, std::int64_t row) {
  const std::int64_t set = cache.shape.set_of(row), slot = set * cache.shape.count_slots + cache.shape.first_slot(row);
  prefetch_to_write(cache.counted_rows.data() + slot);
  prefetch_to_write(cache.counted_uses.data() + slot);
  prefetch_to_write(cache.counted.data() + set);
}

/// Counts rows by a thread for each set, its rows ascending.
template <class Exec>
void count_by_set(const Exec& exec, const RowCacheArrays<Exec>& cache, const UniqueRows<Exec>& by_set,
                  const ConstArray<Exec, std::int64_t>& rows, const ConstArray<Exec, std::int64_t>& uses) {
  constexpr std::int64_t ahead = 8;
  const std::int64_t n = by_set.positions();
  const bool ages = cache.versions.extent(0) > 0;  // only then may a row that was missed be a cached one
  Kokkos::parallel_for(
      "shardmark::cache_count_missed", static_range(exec, n), KOKKOS_LAMBDA(const std::int64_t u) {
        if (u >= by_set.count()) return;
        const CountSlots slots = count_slots(cache, by_set.key(u));
        for (std::int64_t i = by_set.begin(u); i < by_set.begin(u + 1); ++i) {
          const std::int64_t p = by_set.position(i);
          ask_for_count_slot(cache, rows(by_set.position(Kokkos::min(i + ahead, n - 1))));
          if (ages && slot_of(cache, rows(p)) != row_not_cached) continue;
          if (!slots.add(rows(p), uses(p))) Kokkos::atomic_add(&cache.counts(0).drops, uses(p));
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

template void RowCacheDirectory<DefaultSpace>::count_found(const DefaultSpace&, ConstArray<DefaultSpace, std::int64_t>);
template void RowCacheDirectory<DefaultSpace>::count_missed(const DefaultSpace&, ConstArray<DefaultSpace, std::int64_t>,
                                                            ConstArray<DefaultSpace, std::int64_t>, bool);

/// Returns whether row a, with its uses, is to be cached rather than row b.
KOKKOS_INLINE_FUNCTION bool goes_before(std::int64_t a_uses, std::int64_t a, std::int64_t b_uses, std::int64_t b) {
  return a_uses > b_uses || (a_uses == b_uses && a < b);
}

/// Gives the ways and the count slots of one set while its cached rows are chosen. A row that enters trades places with
/// the one that leaves: until forget() its count slot holds the row that left (or row_not_cached) and, in the place of
/// uses, stale_slot of the slot that it entered, which is below 0.
template <class Exec>
struct RowCacheSet {
  const RowCacheArrays<Exec>& cache;
  std::int64_t set;

  KOKKOS_FUNCTION std::int64_t first_way() const { return set * cache.shape.ways; }
  KOKKOS_FUNCTION std::int64_t first_count_slot() const { return set * cache.shape.count_slots; }

  /// Returns the slot of the first free way, or of the row that is the first to leave.
  KOKKOS_FUNCTION std::int64_t first_to_leave() const {
    std::int64_t worst = first_way();
    for (std::int64_t s = worst; s < first_way() + cache.shape.ways; ++s) {
      if (cache.rows(s) == row_not_cached) return s;
      if (goes_before(cache.uses(worst), cache.rows(worst), cache.uses(s), cache.rows(s))) worst = s;
    }
    return worst;
  }
  /// Returns the count slot of the row that is the first to enter, or row_not_cached.
  KOKKOS_FUNCTION std::int64_t first_to_enter() const {
    std::int64_t best = row_not_cached;
    for (std::int64_t s = first_count_slot(); s < first_count_slot() + cache.shape.count_slots; ++s)
      if (cache.counted_uses(s) > 0 &&
          (best == row_not_cached || goes_before(cache.counted_uses(s), cache.counted_rows(s), cache.counted_uses(best),
                                                 cache.counted_rows(best))))
        best = s;
    return best;
  }
  KOKKOS_FUNCTION bool trades(std::int64_t slot, std::int64_t count_slot) const {
    return cache.rows(slot) == row_not_cached ||
           goes_before(cache.counted_uses(count_slot), cache.counted_rows(count_slot), cache.uses(slot),
                       cache.rows(slot));
  }
  KOKKOS_FUNCTION void trade(std::int64_t slot, std::int64_t count_slot) const {
    const std::int64_t row = cache.counted_rows(count_slot), way = slot - first_way();
    cache.uses(slot) = cache.counted_uses(count_slot);
    cache.counted_rows(count_slot) = cache.rows(slot);
    cache.counted_uses(count_slot) = stale_slot(slot);
    cache.rows(slot) = row;
    std::uint64_t& tags = cache.tags(set * cache.tag_words + way / 8);
    const auto shift = static_cast<int>(way % 8 * 8);
    tags = (tags & ~(std::uint64_t{255} << shift)) | tag_of(row) << shift;
    if (cache.versions.extent(0) > 0) cache.versions(slot) = no_version;
  }
  KOKKOS_FUNCTION void halve() const {
    for (std::int64_t s = first_way(); s < first_way() + cache.shape.ways; ++s) cache.uses(s) /= 2;
    if (cache.counted(set) == 0) return;
    for (std::int64_t s = first_count_slot(); s < first_count_slot() + cache.shape.count_slots; ++s)
      cache.counted_uses(s) /= 2;
    count_slots(cache, set).forget_unused();
  }
};

/// Trades rows; sets first_change[set] to the number of rows that enter set `set`.
template <class Exec>
void trade_rows(const Exec& exec, const RowCacheArrays<Exec>& cache, const Array<Exec, std::int64_t>& first_change) {
  Kokkos::parallel_for(
      "shardmark::cache_trade_rows", static_range(exec, cache.shape.sets), KOKKOS_LAMBDA(const std::int64_t s) {
        const RowCacheSet<Exec> set{cache, s};
        std::int64_t changes = 0;
        for (; changes < cache.counted(s); ++changes) {
          const std::int64_t leaves = set.first_to_leave(), enters = set.first_to_enter();
          if (!set.trades(leaves, enters)) break;
          set.trade(leaves, enters);
        }
        first_change(s) = changes;
      });
}

/// Replaces first_change by its exclusive sums; returns the sum of all.
template <class Exec>
std::int64_t scan_changes(const Exec& exec, const Array<Exec, std::int64_t>& first_change) {
  std::int64_t total = 0;
  Kokkos::parallel_scan(
      "shardmark::cache_scan_changes", static_range(exec, static_cast<std::int64_t>(first_change.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t s, std::int64_t& sum, const bool final) {
        const std::int64_t changes = first_change(s);
        if (final) first_change(s) = sum;
        sum += changes;
      },
      total);
  return total;
}

/// Lists what the sets traded, [changes] each, in the order of the sets; `left` is no_row where a way was free. Halves
/// all uses. Returns how many rows left.
template <class Exec>
std::int64_t list_trades(const Exec& exec, const RowCacheArrays<Exec>& cache,
                         const Array<Exec, std::int64_t>& first_change, const Array<Exec, std::int64_t>& left,
                         const Array<Exec, std::int64_t>& entered, const Array<Exec, std::int64_t>& slots,
                         std::int64_t no_row) {
  std::int64_t evictions = 0;
  Kokkos::parallel_reduce(
      "shardmark::cache_list_trades", static_range(exec, cache.shape.sets),
      KOKKOS_LAMBDA(const std::int64_t s, std::int64_t& leaving) {
        const RowCacheSet<Exec> set{cache, s};
        std::int64_t change = first_change(s);
        for (std::int64_t c = 0; cache.counted(s) > 0 && c < cache.shape.count_slots; ++c) {
          std::int64_t& row = cache.counted_rows(set.first_count_slot() + c);
          std::int64_t& uses = cache.counted_uses(set.first_count_slot() + c);
          if (uses >= 0) continue;
          const std::int64_t slot = stale_slot(uses);
          left(change) = row == row_not_cached ? no_row : row;
          entered(change) = cache.rows(slot);
          slots(change) = slot;
          ++change;
          leaving += row != row_not_cached;
          row = cache.rows(slot);  // whose slot it was, for those behind it
          uses = 0;
        }
        set.halve();
      },
      evictions);
  return evictions;
}

template <class Exec>
void add_evictions(const Exec& exec, const Array<Exec, RowCacheCounts>& counts, std::int64_t evictions) {
  Kokkos::parallel_for(
      "shardmark::cache_evictions", static_range(exec, 1),
      KOKKOS_LAMBDA(std::int64_t) { counts(0).evictions += evictions; });
}

/// Lists the first `count` rows, ascending, and their slots.
template <class Exec>
void list_by_row(const Exec& exec, const UniqueRows<Exec>& unique, const Array<Exec, std::int64_t>& rows,
                 const Array<Exec, std::int64_t>& slots) {
  Kokkos::parallel_for(
      "shardmark::cache_list_by_row", static_range(exec, static_cast<std::int64_t>(rows.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        rows(i) = unique.key(i);
        slots(i) = unique.position(i);
      });
}

template <class Exec>
RowCacheChanges<Exec> RowCacheDirectory<Exec>::populate(const Exec& exec) {
  Workspace& work = workspace_;
  const auto first_change = work.first_change.first(shape().sets);
  trade_rows(exec, arrays_, first_change);
  const std::int64_t entering = scan_changes(exec, first_change);
  const auto left = work.left.first(entering), entered = work.entered.first(entering),
             slots = work.slots.first(entering);
  const std::int64_t leaving = list_trades(exec, arrays_, first_change, left, entered, slots, table_rows_);
  add_evictions(exec, arrays_.counts, leaving);
  const auto sort = [&](ConstArray<Exec, std::int64_t> rows, const auto& sorted_rows, const auto& sorted_slots) {
    const auto by_row = unique_rows<Exec>(exec, rows, table_rows_ + 1, slots, shape().rows(), work.by_row);
    list_by_row<Exec>(exec, by_row, sorted_rows, sorted_slots);
  };
  const auto leaving_rows = work.leaving_rows.first(leaving), leaving_slots = work.leaving_slots.first(leaving);
  const auto entering_rows = work.entering_rows.first(entering), entering_slots = work.entering_slots.first(entering);
  sort(left, leaving_rows, leaving_slots);
  sort(entered, entering_rows, entering_slots);
  return {leaving_rows, leaving_slots, entering_rows, entering_slots};
}

template RowCacheChanges<DefaultSpace> RowCacheDirectory<DefaultSpace>::populate(const DefaultSpace&);

}  // namespace shardmark::kernels
