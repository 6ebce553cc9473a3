// SPDX-License-Identifier: Apache-2.0
#include "kernels/dynamic/row_uses.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/lookup/stored_rows.hpp"

namespace shardmark::kernels {

template <class Exec>
void forget_uses(const Exec& exec, ConstArray<Exec, std::int64_t> positions, ConstArray<Exec, std::int64_t> slots,
                 Array<Exec, RowUse> rows) {
  Kokkos::parallel_for(
      "shardmark::forget_uses", static_range(exec, static_cast<std::int64_t>(positions.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { rows(slots(positions(i))) = RowUse{}; });
}

template <class Exec>
void add_uses(const Exec& exec, std::int64_t step, ConstArray<Exec, std::int64_t> slots,
              ConstArray<Exec, std::int64_t> uses, Array<Exec, RowUse> rows) {
  constexpr std::int64_t ahead = 16;
  const auto n = static_cast<std::int64_t>(slots.extent(0));
  Kokkos::parallel_for(
      "shardmark::add_uses", static_range(exec, n), KOKKOS_LAMBDA(const std::int64_t i) {
        if (i + ahead < n && slots(i + ahead) >= 0) prefetch_to_write(rows.data() + slots(i + ahead));
        if (slots(i) >= 0) rows(slots(i)).add(step, uses(i));
      });
}

template <class Exec>
void set_uses(const Exec& exec, ConstArray<Exec, std::int64_t> slots, ConstArray<Exec, RowUse> uses,
              Array<Exec, RowUse> rows) {
  Kokkos::parallel_for(
      "shardmark::set_uses", static_range(exec, static_cast<std::int64_t>(slots.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { rows(slots(i)) = uses(i); });
}

namespace {

/// Restores the order of a heap, the least candidate first, of which the one at `i` may be too large.
KOKKOS_INLINE_FUNCTION void sift_down(VictimCandidate* heap, std::int64_t size, std::int64_t i) {
  const VictimCandidate moved = heap[i];
  for (std::int64_t child = 2 * i + 1; child < size; child = 2 * i + 1) {
    if (child + 1 < size && heap[child + 1] < heap[child]) ++child;
    if (!(heap[child] < moved)) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = moved;
}

}  // namespace

/// Searches one bucket for its victims.
template <class Exec>
struct SearchBucket {
  KeyTableArrays<Exec> table;
  ConstArray<Exec, RowUse> uses;
  SlotRows rows;
  Eviction eviction;
  std::int64_t step;
  ConstArray<Exec, std::int64_t> buckets, begins;  ///< [searched, searched + 1]
  Array<Exec, VictimCandidate> candidates;         ///< [begins of the last]
  Array<Exec, std::int64_t> leaving;               ///< [searched]

  /// Leaves the victims of a bucket, the first one last, at the end of its part of `candidates`.
  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    const KeyBucket& bucket = table.buckets(buckets(i));
    VictimCandidate* const heap = candidates.data() + begins(i);
    const std::int64_t pinned = collect(bucket, heap), all = bucket.keys;
    std::int64_t size = all - pinned;
    for (std::int64_t parent = size / 2 - 1; parent >= 0; --parent) sift_down(heap, size, parent);
    const bool examined = reference::is_examined(buckets(i), step);
    const std::int64_t beyond = reference::beyond_capacity(eviction, buckets(i), all);
    std::int64_t left = 0;
    for (; size > 0; ++left) {
      if (left >= beyond && !(examined && reference::expired(eviction, heap[0].score, step))) break;
      const VictimCandidate victim = heap[0];
      heap[0] = heap[--size];
      if (size > 0) sift_down(heap, size, 0);
      heap[all - 1 - left] = victim;
    }
    leaving(i) = left;
  }

 private:
  /// Writes the rows that are not pinned, and returns how many are.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t collect(const KeyBucket& bucket, VictimCandidate* to) const {
    std::int64_t size = 0;
    for (std::uint32_t line = 0; line < bucket.line_count; ++line) {
      prefetch_uses(bucket, line + 4);
      for (std::uint32_t way = 0; way < bucket.lines[line].held(); ++way) {
        const std::int64_t slot = bucket.lines[line].slots[way];
        if (reference::is_pinned(uses(slot), step)) continue;
        const double score = reference::eviction_score(eviction.kind, uses(slot), [&] { return norm(slot); });
        to[size++] = {score, bucket.lines[line].keys[way]};
      }
    }
    return bucket.keys - size;
  }
  KOKKOS_FORCEINLINE_FUNCTION void prefetch_uses(const KeyBucket& bucket, std::uint32_t line) const {
    if (line >= bucket.line_count) return;
    for (std::uint32_t way = 0; way < bucket.lines[line].held(); ++way)
      prefetch(uses.data() + bucket.lines[line].slots[way], sizeof(RowUse));
  }
  KOKKOS_FORCEINLINE_FUNCTION double norm(std::int64_t slot) const {
    const char* const row = static_cast<const char*>(rows.values) + slot * row_bytes(rows.value_type, rows.dim);
    double sum = 0.0;
    with_row_type(rows.value_type,
                  [&](auto type) { sum = reference::squared_norm(typename decltype(type)::type(row), rows.dim); });
    return sum;
  }
};

/// Copies the victims of the searched buckets to one list, and returns how many they are.
template <class Exec>
std::int64_t list_victims(const Exec& exec, const SearchBucket<Exec>& search,
                          const Array<Exec, std::int64_t>& victims) {
  std::int64_t total = 0;
  Kokkos::parallel_scan(
      "shardmark::list_victims", static_range(exec, static_cast<std::int64_t>(search.buckets.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i, std::int64_t& before, const bool final) {
        const std::int64_t last = search.begins(i) + search.table.buckets(search.buckets(i)).keys - 1;
        for (std::int64_t v = 0; final && v < search.leaving(i); ++v)
          victims(before + v) = search.candidates(last - v).key;
        before += search.leaving(i);
      },
      total);
  return total;
}

template <class Exec>
ConstArray<Exec, std::int64_t> find_victims(const Exec& exec, const KeyTable<Exec>& table,
                                            ConstArray<Exec, RowUse> uses, const SlotRows& rows,
                                            const Eviction& eviction, std::int64_t step,
                                            VictimsWorkspace<Exec>& workspace) {
  std::vector<std::int64_t> buckets, begins{0};
  for (std::int64_t bucket = 0; bucket < key_buckets; ++bucket) {
    const std::int64_t keys = table.keys_in_bucket(bucket);
    const bool examined = eviction.expires() && reference::is_examined(bucket, step);
    if (keys == 0 || !(examined || reference::beyond_capacity(eviction, bucket, keys) > 0)) continue;
    buckets.push_back(bucket);
    begins.push_back(begins.back() + keys);
  }
  if (buckets.empty()) return {};
  const SearchBucket<Exec> search{table.arrays(),
                                  uses,
                                  rows,
                                  eviction,
                                  step,
                                  workspace.buckets.holding(exec, buckets),
                                  workspace.begins.holding(exec, begins),
                                  workspace.candidates.first(begins.back()),
                                  workspace.leaving.first(std::ssize(buckets))};
  Kokkos::parallel_for("shardmark::search_victims", dynamic_range(exec, std::ssize(buckets)), search);
  const auto victims = workspace.victims.first(begins.back());
  const std::int64_t total = list_victims(exec, search, victims);
  return Kokkos::subview(victims, std::pair<std::int64_t, std::int64_t>(0, total));
}

SHARDMARK_INSTANCE(forget_uses<DefaultSpace>)
SHARDMARK_INSTANCE(add_uses<DefaultSpace>)
SHARDMARK_INSTANCE(set_uses<DefaultSpace>)
SHARDMARK_INSTANCE(find_victims<DefaultSpace>)

}  // namespace shardmark::kernels
