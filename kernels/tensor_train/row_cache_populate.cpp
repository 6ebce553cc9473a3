// SPDX-License-Identifier: Apache-2.0
#include "kernels/instantiate.hpp"
#include "kernels/tensor_train/cached_slot.hpp"
#include "kernels/tensor_train/count_slots.hpp"

namespace shardmark::kernels {

/// Whether row a, with its uses, is to be cached rather than row b.
KOKKOS_INLINE_FUNCTION bool goes_before(std::int64_t a_uses, std::int64_t a, std::int64_t b_uses, std::int64_t b) {
  return a_uses > b_uses || (a_uses == b_uses && a < b);
}

/// The ways and the count slots of one set while its cached rows are chosen. A row that enters trades places with the
/// one that leaves: until forget() its count slot holds the row that left (or row_not_cached) and, in the place of
/// uses, stale_slot of the slot that it entered, which is below 0.
template <class Exec>
struct RowCacheSet {
  const RowCacheArrays<Exec>& cache;
  std::int64_t set;

  KOKKOS_FUNCTION std::int64_t first_way() const { return set * cache.shape.ways; }
  KOKKOS_FUNCTION std::int64_t first_count_slot() const { return set * cache.shape.count_slots; }

  /// The slot of the first free way, or of the row that stays last.
  KOKKOS_FUNCTION std::int64_t first_to_leave() const {
    std::int64_t worst = first_way();
    for (std::int64_t s = worst; s < first_way() + cache.shape.ways; ++s) {
      if (cache.rows(s) == row_not_cached) return s;
      if (goes_before(cache.uses(worst), cache.rows(worst), cache.uses(s), cache.rows(s))) worst = s;
    }
    return worst;
  }
  /// The count slot of the row that enters first, or row_not_cached.
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
    tags = (tags & ~(std::uint64_t{255} << shift)) | tag_of(RowCacheShape::hash(row)) << shift;
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

/// first_change[set] = how many rows enter set `set`.
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

/// Its exclusive sums; returns the sum of all.
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

/// What the sets traded, [changes] each, in the order of the sets; `left` is no_row where a way was free. Halves all
/// uses. Returns how many rows left.
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

/// The first `count` rows, ascending, and their slots.
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

#define ROW_CACHE_POPULATE_ON(Exec) template RowCacheChanges<Exec> RowCacheDirectory<Exec>::populate(const Exec&);
SHARDMARK_ON_EACH_SPACE(ROW_CACHE_POPULATE_ON)

}  // namespace shardmark::kernels
