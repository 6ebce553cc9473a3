// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"
#include "kernels/row_partition.hpp"
#include "kernels/work.hpp"

namespace shardmark::kernels {

/// The bags of one rank, feature-major CSR: feature f has bags first_bag[f] .. first_bag[f + 1], usually as many as
/// there are samples, and bag b holds indices[offsets[b] .. offsets[b + 1]).
template <class Exec, class Index>
struct Bags {
  ConstArray<Exec, std::int64_t> first_bag;  ///< [features + 1]
  ConstArray<Exec, std::int64_t> offsets;    ///< [bags + 1]
  ConstArray<Exec, Index> indices;           ///< [nnz]
  ConstArray<Exec, float> weights;           ///< [nnz], or empty when every weight is 1
};

/// What bucketize writes; the caller gives the arrays. Every id of a feature appears once per strip of the feature, so
/// the size of `ids` is known beforehand: the sum over strips of the ids of their feature.
template <class Exec, class Length, class Index>
struct Buckets {
  ConstArray<Exec, std::int64_t> first_bag;  ///< [slots], ascending: where the lengths of a slot begin
  Array<Exec, Length> lengths;               ///< by slot, then bag of its feature: ids of each (slot, bag)
  Array<Exec, Index> ids;                    ///< local rows, by slot, then bag, then order in the bag
  Array<Exec, float> weights;                ///< as ids; empty when the bags have no weights
};

/// Ids sent per slot, on the host: the exchange of counts starts from here.
using SlotCounts = Kokkos::View<std::int64_t*, Kokkos::HostSpace>;

template <class Exec>
struct BucketizeWorkspace {
  Scratch<Exec, std::int64_t> cursors{"shardmark::bucketize_cursors"};
  Scratch<Exec, std::int64_t> counts{"shardmark::bucketize_counts"};
  Scratch<Exec, std::int64_t> first_of_strip{"shardmark::bucketize_first_of_strip"};
};

/// All (strip, bag) pairs of a batch, numbered strip by strip.
template <class Exec>
struct StripBags {
  ConstArray<Exec, Strip> strips;
  ConstArray<Exec, std::int64_t> first_bag;       ///< [features + 1]
  ConstArray<Exec, std::int64_t> first_of_strip;  ///< [strips] number of the strip's first pair

  /// Calls body(strip, bag among all, bag among those of its feature) for the pairs [begin, end).
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_range(std::int64_t begin, std::int64_t end, const Body& body) const {
    const auto count = static_cast<std::int64_t>(strips.extent(0));
    for (std::int64_t s = last_at_most(count, begin, first_of_strip); begin < end; ++s) {
      const std::int64_t next = s + 1 < count ? first_of_strip(s + 1) : end;
      const std::int64_t stop = Kokkos::min(end, next);
      const std::int64_t first = first_bag(strips(s).feature);
      for (std::int64_t within = begin - first_of_strip(s); begin < stop; ++begin, ++within)
        body(strips(s), first + within, within);
    }
  }
};

/// Fills in first_of_strip; returns how many pairs there are.
template <class Exec>
std::int64_t number_strip_bags(const Exec& exec, const ConstArray<Exec, Strip>& strips,
                               const ConstArray<Exec, std::int64_t>& first_bag,
                               const Array<Exec, std::int64_t>& first_of_strip) {
  std::int64_t total = 0;
  Kokkos::parallel_scan(
      "shardmark::bucketize_tasks", static_range(exec, static_cast<std::int64_t>(strips.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t s, std::int64_t& sum, const bool final) {
        if (final) first_of_strip(s) = sum;
        sum += first_bag(strips(s).feature + 1) - first_bag(strips(s).feature);
      },
      total);
  return total;
}

/// Sorts the ids of `bags` by the slot that owns their row. One thread owns a (strip, bag) in both passes over the ids
/// (count, then fill), and a slot belongs to one strip: so no two threads write one cell, no atomics are needed and the
/// result is the same for any number of threads. Writes the ids per slot to `slot_counts` [slots] and returns their
/// sum. Ids must lie in [0, rows) of their table (check_batch).
template <class Exec, class InputIndex, class Length, class Index>
std::int64_t bucketize(const Exec& exec, const RowOwners<Exec>& owners, const Bags<Exec, InputIndex>& bags,
                       const Buckets<Exec, Length, Index>& out, const SlotCounts& slot_counts,
                       BucketizeWorkspace<Exec>& workspace) {
  const auto cells = static_cast<std::int64_t>(out.lengths.extent(0));
  const auto slots = static_cast<std::int64_t>(out.first_bag.extent(0));
  const Array<Exec, std::int64_t> first_of_strip = workspace.first_of_strip.first(owners.strips.extent(0));
  const std::int64_t pairs = number_strip_bags(exec, owners.strips, bags.first_bag, first_of_strip);
  const StripBags<Exec> strip_bags{owners.strips, bags.first_bag, first_of_strip};
  constexpr std::int64_t grain = on_device<Exec> ? 1 : 512;
  const auto ranges = dynamic_range(exec, (pairs + grain - 1) / grain);
  const bool weighted = bags.weights.extent(0) > 0;

  Kokkos::deep_copy(exec, out.lengths, Length{0});
  Kokkos::parallel_for(
      "shardmark::bucketize_count", ranges, KOKKOS_LAMBDA(const std::int64_t range) {
        const auto count_bag = [&](const Strip& strip, std::int64_t bag, std::int64_t within) {
          for (std::int64_t i = bags.offsets(bag); i < bags.offsets(bag + 1); ++i)
            ++out.lengths(out.first_bag(owners.find(strip, bags.indices(i)).slot) + within);
        };
        strip_bags.for_range(range * grain, Kokkos::min(pairs, (range + 1) * grain), count_bag);
      });

  const Array<Exec, std::int64_t> cursors = workspace.cursors.first(cells);
  const Array<Exec, std::int64_t> counts = workspace.counts.first(slots);
  std::int64_t total = 0;
  Kokkos::parallel_scan(
      "shardmark::bucketize_scan", static_range(exec, cells),
      KOKKOS_LAMBDA(const std::int64_t cell, std::int64_t& sum, const bool final) {
        if (final) cursors(cell) = sum;
        sum += out.lengths(cell);
      },
      total);
  Kokkos::parallel_for(
      "shardmark::bucketize_slot_counts", static_range(exec, slots), KOKKOS_LAMBDA(const std::int64_t slot) {
        const std::int64_t begin = out.first_bag(slot);
        const std::int64_t end = slot + 1 < slots ? out.first_bag(slot + 1) : cells;
        const std::int64_t after = end < cells ? cursors(end) : total;
        counts(slot) = after - (begin < cells ? cursors(begin) : total);
      });
  Kokkos::deep_copy(exec, slot_counts, counts);
  exec.fence("shardmark::bucketize: the host reads slot_counts while the ids are still being sorted");

  Kokkos::parallel_for(
      "shardmark::bucketize_fill", ranges, KOKKOS_LAMBDA(const std::int64_t range) {
        const auto fill_bag = [&](const Strip& strip, std::int64_t bag, std::int64_t within) {
          for (std::int64_t i = bags.offsets(bag); i < bags.offsets(bag + 1); ++i) {
            const auto owned = owners.find(strip, bags.indices(i));
            const std::int64_t at = cursors(out.first_bag(owned.slot) + within)++;
            out.ids(at) = static_cast<Index>(owned.local_row);
            if (weighted) out.weights(at) = bags.weights(i);
          }
        };
        strip_bags.for_range(range * grain, Kokkos::min(pairs, (range + 1) * grain), fill_bag);
      });
  return total;
}

/// Work of bucketize: offsets, ids and weights once, lengths and sorted ids out. `strip_ids`: ids counted once per
/// strip.
constexpr Work bucketize_work(std::int64_t bags, std::int64_t ids, std::int64_t cells, std::int64_t strip_ids,
                              bool weighted, std::int64_t index_bytes = 8, std::int64_t length_bytes = 4) {
  const std::int64_t weight_bytes = weighted ? 4 : 0;
  return {.bytes_read = (bags + 1) * 8 + ids * (8 + weight_bytes),
          .bytes_written = cells * length_bytes + strip_ids * (index_bytes + weight_bytes),
          .flops = 0};
}

}  // namespace shardmark::kernels
