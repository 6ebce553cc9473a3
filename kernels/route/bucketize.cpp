// SPDX-License-Identifier: Apache-2.0
#include "kernels/route/bucketize.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/route/device_bucketize.hpp"

namespace shardmark::kernels {

/// Divides the bags of strips into ranges of `grain` consecutive bags of one strip, numbered strip by strip, on the
/// host: a thread takes a range.
template <class Exec>
struct StripRanges {
  static constexpr std::int64_t grain = 512;
  static constexpr std::int64_t cells_apart = 16;  ///< so that no two threads write to one line

  ConstArray<Exec, Strip> strips;
  ConstArray<Exec, std::int64_t> first_bag;  ///< [features + 1]
  Array<Exec, std::int64_t> first_range;     ///< [strips] number of the strip's first range
  std::int64_t width = 0;                    ///< cells of a range, one per member of its strip and then some

  KOKKOS_INLINE_FUNCTION std::int64_t bags(const Strip& strip) const {
    return first_bag(strip.feature + 1) - first_bag(strip.feature);
  }
  KOKKOS_INLINE_FUNCTION std::int64_t ranges(const Strip& strip) const { return (bags(strip) + grain - 1) / grain; }

  KOKKOS_INLINE_FUNCTION std::int64_t strip_of(std::int64_t range) const {
    return last_at_most(static_cast<std::int64_t>(strips.extent(0)), range, first_range);
  }

  /// Names bags [begin, end) of the feature whose first bag is number `first` of all.
  struct BagRange {
    std::int64_t first, begin, end;
  };
  KOKKOS_FORCEINLINE_FUNCTION BagRange bags_of(std::int64_t range, std::int64_t strip) const {
    const std::int64_t begin = (range - first_range(strip)) * grain;
    return {first_bag(strips(strip).feature), begin, Kokkos::min(begin + grain, bags(strips(strip)))};
  }

  /// Calls body(bag among all, bag among those of its feature) for the bags of a range.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_bags(std::int64_t range, std::int64_t strip, const Body& body) const {
    const BagRange bags = bags_of(range, strip);
    for (std::int64_t within = bags.begin; within < bags.end; ++within) body(bags.first + within, within);
  }
};

/// Fills in first_range; returns how many ranges there are.
template <class Exec>
std::int64_t number_ranges(const Exec& exec, const StripRanges<Exec>& ranges) {
  std::int64_t total = 0;
  Kokkos::parallel_scan(
      "shardmark::bucketize_ranges", static_range(exec, static_cast<std::int64_t>(ranges.strips.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t s, std::int64_t& sum, const bool final) {
        if (final) ranges.first_range(s) = sum;
        sum += ranges.ranges(ranges.strips(s));
      },
      total);
  return total;
}

/// Calls body(slot, strip, member) for every slot of every strip.
template <class Exec, class Body>
void for_members(const std::string& label, const Exec& exec, const RowOwners<Exec>& owners, const Body& body) {
  const std::int64_t most = owners.most_members;
  Kokkos::parallel_for(
      label, static_range(exec, static_cast<std::int64_t>(owners.strips.extent(0)) * most),
      KOKKOS_LAMBDA(const std::int64_t i) {
        const std::int64_t s = i / most, member = i % most;
        const Strip& strip = owners.strips(s);
        if (member < strip.members) body(owners.members(strip.first_member + member), s, member);
      });
}

/// Turns `cursors` from the numbers of ids of each (range, member of its strip) into the places where these ids go.
/// slot_counts, counts [slots]: ids of each slot, and room.
template <class Exec>
void place_ids(const Exec& exec, const RowOwners<Exec>& owners, const StripRanges<Exec>& ranges,
               const Array<Exec, std::int64_t>& cursors, const Array<Exec, std::int64_t>& counts,
               const Array<Exec, std::int64_t>& slot_counts) {
  Kokkos::deep_copy(exec, counts, std::int64_t{0});
  for_members(
      "shardmark::bucketize_slot_counts", exec, owners,
      KOKKOS_LAMBDA(const std::int64_t slot, const std::int64_t s, const std::int64_t member) {
        const std::int64_t first = ranges.first_range(s), end = first + ranges.ranges(ranges.strips(s));
        std::int64_t sum = 0;
        for (std::int64_t r = first; r < end; ++r) sum += cursors(r * ranges.width + member);
        counts(slot) = sum;
      });
  Kokkos::deep_copy(exec, slot_counts, counts);
  Kokkos::parallel_scan(
      "shardmark::bucketize_scan", static_range(exec, static_cast<std::int64_t>(counts.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t slot, std::int64_t& sum, const bool final) {
        const std::int64_t count = counts(slot);
        if (final) counts(slot) = sum;
        sum += count;
      });
  for_members(
      "shardmark::bucketize_cursors", exec, owners,
      KOKKOS_LAMBDA(const std::int64_t slot, const std::int64_t s, const std::int64_t member) {
        const std::int64_t first = ranges.first_range(s), end = first + ranges.ranges(ranges.strips(s));
        std::int64_t next = counts(slot);
        for (std::int64_t r = first; r < end; ++r) {
          std::int64_t& cursor = cursors(r * ranges.width + member);
          const std::int64_t count = cursor;
          cursor = next;
          next += count;
        }
      });
}

/// Copies the ids of consecutive bags of a strip that one slot holds whole: they keep their order and, but for a shift,
/// their values. `at`: where they go.
template <class Exec, class InputIndex, class Length, class Index>
KOKKOS_INLINE_FUNCTION void copy_bags(const StripOwners& strip, const Bags<Exec, InputIndex>& bags,
                                      const Buckets<Exec, Length, Index>& out,
                                      const typename StripRanges<Exec>::BagRange& range, std::int64_t at) {
  const OwnedRow owner = strip.only_owner();
  const std::int64_t* offsets = bags.offsets.data() + range.first;
  const std::int64_t begin = offsets[range.begin], count = offsets[range.end] - begin;
  const InputIndex* rows = bags.indices.data() + begin;
  Index* ids = out.ids.data() + at;
  for (std::int64_t i = 0; i < count; ++i) ids[i] = static_cast<Index>(rows[i] + owner.local_row);
  if (bags.weights.extent(0) > 0)
    for (std::int64_t i = 0; i < count; ++i) out.weights(at + i) = bags.weights(begin + i);
  Length* lengths = out.lengths.data() + out.first_bag(owner.slot);
  for (std::int64_t bag = range.begin; bag < range.end; ++bag)
    lengths[bag] = static_cast<Length>(offsets[bag + 1] - offsets[bag]);
}

template <class Exec, class InputIndex, class Length, class Index>
void bucketize_ranges(const Exec& exec, const RowOwners<Exec>& owners, const Bags<Exec, InputIndex>& bags,
                      const Buckets<Exec, Length, Index>& out, const Array<Exec, std::int64_t>& slot_counts,
                      BucketizeWorkspace<Exec>& workspace) {
  constexpr std::int64_t apart = StripRanges<Exec>::cells_apart;
  const StripRanges<Exec> ranges{owners.strips, bags.first_bag,
                                 workspace.first_range.first(static_cast<std::int64_t>(owners.strips.extent(0))),
                                 (owners.most_members + apart - 1) / apart * apart};
  const std::int64_t count = number_ranges(exec, ranges);
  const Array<Exec, std::int64_t> cursors = workspace.cursors.first(count * ranges.width);
  const bool weighted = bags.weights.extent(0) > 0;
  Kokkos::parallel_for(
      "shardmark::bucketize_count", dynamic_range(exec, count), KOKKOS_LAMBDA(const std::int64_t range) {
        const std::int64_t s = ranges.strip_of(range);
        const StripOwners strip = owners.of(ranges.strips(s));
        std::int64_t* counts = &cursors(range * ranges.width);
        for (std::int64_t m = 0; m < owners.most_members; ++m) counts[m] = 0;
        if (strip.one_owner()) {
          const auto [first, begin, end] = ranges.bags_of(range, s);
          counts[0] = bags.offsets(first + end) - bags.offsets(first + begin);
          return;
        }
        ranges.for_bags(range, s, [&](std::int64_t bag, std::int64_t) {
          for (std::int64_t i = bags.offsets(bag); i < bags.offsets(bag + 1); ++i)
            ++counts[strip.find(bags.indices(i)).member];
        });
      });
  place_ids(exec, owners, ranges, cursors, workspace.counts.first(static_cast<std::int64_t>(out.first_bag.extent(0))),
            slot_counts);
  Kokkos::deep_copy(exec, out.lengths, Length{0});
  Kokkos::parallel_for(
      "shardmark::bucketize_fill", dynamic_range(exec, count), KOKKOS_LAMBDA(const std::int64_t range) {
        const std::int64_t s = ranges.strip_of(range);
        const StripOwners strip = owners.of(ranges.strips(s));
        std::int64_t* next = &cursors(range * ranges.width);
        if (strip.one_owner()) return copy_bags(strip, bags, out, ranges.bags_of(range, s), next[0]);
        ranges.for_bags(range, s, [&](std::int64_t bag, std::int64_t within) {
          for (std::int64_t i = bags.offsets(bag); i < bags.offsets(bag + 1); ++i) {
            const auto owned = strip.find(bags.indices(i));
            const std::int64_t at = next[owned.member]++;
            out.ids(at) = static_cast<Index>(owned.local_row);
            if (weighted) out.weights(at) = bags.weights(i);
            ++out.lengths(out.first_bag(owned.slot) + within);
          }
        });
      });
}

template <class Exec, class InputIndex, class Length, class Index>
bool bucketize(const Exec& exec, const RowOwners<Exec>& owners, const Bags<Exec, InputIndex>& bags,
               const Buckets<Exec, Length, Index>& out, const Array<Exec, std::int64_t>& slot_counts,
               BucketizeWorkspace<Exec>& workspace, [[maybe_unused]] const KnownStrips& known) {
  if constexpr (on_device<Exec>) {
    return device::bucketize(exec, owners, bags, out, slot_counts, workspace, known);
  } else {
    bucketize_ranges(exec, owners, bags, out, slot_counts, workspace);
    return true;
  }
}

SHARDMARK_INSTANCE(bucketize<DefaultSpace, std::int64_t, std::int32_t, std::int32_t>)
SHARDMARK_INSTANCE(bucketize<DefaultSpace, std::int64_t, std::int32_t, std::int64_t>)

}  // namespace shardmark::kernels
