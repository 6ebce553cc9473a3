// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device_warps.hpp"
#include "kernels/route/bucketize.hpp"

namespace shardmark::kernels::device {

/// Cuts the bags of every strip into ranges of bags_per_range, which a warp takes. A cell counts the ids of a range
/// that one slot gets; cells lie slot by slot, so that the sum of those before a cell is the place of its first id.
template <class Exec, class InputIndex, class Length, class Index>
struct StripRanges {
  static constexpr std::int64_t bags_per_range = 32;  ///< as a warp can hold the ends of
  using Bounds = Kokkos::LaunchBounds<256, 4>;

  // These are pointers, which are few bytes of arguments.
  const Strip* strips;
  const RowBlock* row_blocks;
  const RowOwner* row_owners;
  const BucketOwner* bucket_owners;
  const std::int64_t* feature_bags;  ///< Bags::first_bag
  const std::int64_t* offsets;
  const InputIndex* indices;
  const float* weights;           ///< null when every weight is 1
  const std::int64_t* slot_bags;  ///< Buckets::first_bag
  Length* lengths;
  Index* out_ids;
  float* out_weights;
  std::int64_t* first_range;  ///< [strip_count + 1] ranges of the strips before
  std::int64_t* cells;        ///< [cell_count() + 1]
  std::int64_t strip_count, slot_count, length_count;
  std::int64_t warps;  ///< that share the ranges

  std::int64_t cell_count() const { return first_cell_behind(length_count, slot_count); }

  /// Returns the first cell of a slot, between which and the next slot's there is room for all of its bags.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t first_cell(std::int64_t slot) const {
    return first_cell_behind(slot < slot_count ? slot_bags[slot] : length_count, slot);
  }
  KOKKOS_FORCEINLINE_FUNCTION static std::int64_t first_cell_behind(std::int64_t bags, std::int64_t slots) {
    return bags / bags_per_range + slots;
  }

  /// Returns the number of ranges of so many bags.
  static std::int64_t ranges_of(std::int64_t bags) { return (bags + bags_per_range - 1) / bags_per_range; }

  /// Is one range, as a lane of its warp sees it.
  struct Range {
    std::int64_t strip_number;
    StripOwners strip;
    WarpTile warp;
    std::int64_t number;          ///< among those of the strip
    const std::int64_t* offsets;  ///< [bags + 1]
    int bags;
    BagEnds ends;
  };

  /// Calls body(range) for the ranges of the warp of lane i.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_ranges(std::int64_t i, const Body& body) const {
    const WarpTile warp = whole_warp(static_cast<int>(i % warp_lanes));
    for (std::int64_t r = i / warp_lanes; r < first_range[strip_count]; r += warps) {
      const std::int64_t s = last_at_most(strip_count, r, [&](std::int64_t strip) { return first_range[strip]; });
      const Strip& strip = strips[s];
      const std::int64_t number = r - first_range[s];
      const std::int64_t bag = feature_bags[strip.feature] + number * bags_per_range;
      const auto bags =
          static_cast<int>(Kokkos::min(std::int64_t{bags_per_range}, feature_bags[strip.feature + 1] - bag));
      body(Range{s, owners_of(strip, row_blocks, row_owners, bucket_owners), warp, number, offsets + bag, bags,
                 BagEnds(warp, offsets + bag, bags)});
    }
  }

  /// Calls body(position within the range, its owner) for the ids of a range, by a lane each; behind the last, the slot
  /// of the owner is -1.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_ids(const Range& range, const Body& body) const {
    const InputIndex* ids = indices + range.ends.begin();
    for (int begin = 0; begin < range.ends.length(); begin += range.warp.lanes) {
      const int position = begin + range.warp.lane;
      OwnedRow owned{-1, 0, 0};
      if (position < range.ends.length()) owned = range.strip.find(read_only(ids + position));
      body(position, owned);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t& cell(std::int64_t slot, const Range& range) const {
    return cells[first_cell(slot) + range.number];
  }

  /// Returns where the lengths of the bags of a range begin in a slot.
  KOKKOS_FORCEINLINE_FUNCTION Length* first_length(std::int64_t slot, const Range& range) const {
    return lengths + slot_bags[slot] + range.number * bags_per_range;
  }
};

/// Counts the ids of every cell; all cells are 0 beforehand.
template <class Ranges>
struct CountIds {
  Ranges of;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    of.for_ranges(i, [&](const auto& range) {
      const int lane = range.warp.lane;
      if (range.strip.one_owner()) {
        if (lane == 0) of.cell(range.strip.only_owner().slot, range) = range.ends.length();
        return;
      }
      of.for_ids(range, [&](int, const OwnedRow& owned) {
        const Peers peers = Peers::of(owned.slot, lane);
        if (owned.slot >= 0 && peers.before == 0)
          Kokkos::atomic_add(&of.cell(owned.slot, range), static_cast<std::int64_t>(peers.count));
      });
    });
  }
};

/// Sets an id or a length, whose type may be narrower.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void set(T& to, std::int64_t value) {
  to = static_cast<T>(value);
}

/// Copies the ids, weights and lengths of a range of which one slot gets all; `to`: the place of the first id.
template <class Ranges, class Range>
KOKKOS_FORCEINLINE_FUNCTION void copy_range(const Ranges& of, const Range& range, std::int64_t to) {
  const OwnedRow owner = range.strip.only_owner();
  const int step = range.warp.lanes, length = range.ends.length();
  const std::int64_t from = range.ends.begin();
  constexpr int ids_at_once = 4;
  for (int first = range.warp.lane; first < length; first += ids_at_once * step) {
    std::int64_t rows[ids_at_once] = {};
    for (int k = 0; k < ids_at_once; ++k)
      if (const int at = first + k * step; at < length) rows[k] = read_only(of.indices + from + at);
    for (int k = 0; k < ids_at_once; ++k)
      if (const int at = first + k * step; at < length) set(of.out_ids[to + at], rows[k] + owner.local_row);
  }
  if (of.weights != nullptr)
    for (int at = range.warp.lane; at < length; at += step) of.out_weights[to + at] = read_only(of.weights + from + at);
  auto* lengths = of.first_length(owner.slot, range);
  for (int bag = range.warp.lane; bag < range.bags; bag += step)
    set(lengths[bag], range.offsets[bag + 1] - range.offsets[bag]);
}

/// Copies the ranges of strips whose rows one slot holds. first_id: the place of the first id of each strip.
template <class Ranges>
struct CopyStrips {
  Ranges of;
  const std::int64_t* first_id;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    of.for_ranges(i, [&](const auto& range) {
      const std::int64_t before = range.ends.begin() - *(range.offsets - range.number * Ranges::bags_per_range);
      copy_range(of, range, first_id[range.strip_number] + before);
    });
  }
};

/// Writes ids, weights and lengths, which are 0 beforehand. cells: the place of the first id of each.
template <class Ranges>
struct FillBuckets {
  Ranges of;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    of.for_ranges(i, [&](const auto& range) {
      if (range.strip.one_owner())
        copy_range(of, range, of.cell(range.strip.only_owner().slot, range));
      else
        distribute(range);
    });
  }

 private:
  /// Moves the ids behind those that the same slot got before; cells then count on.
  template <class Range>
  KOKKOS_FORCEINLINE_FUNCTION void distribute(const Range& range) const {
    constexpr std::int64_t bags_per_range = Ranges::bags_per_range;
    const int lane = range.warp.lane;
    of.for_ids(range, [&](int position, const OwnedRow& owned) {
      const bool exists = owned.slot >= 0;
      const Peers same_slot = Peers::of(owned.slot, lane);
      std::int64_t place = 0;
      if (exists && same_slot.before == 0) {
        std::int64_t& cell = of.cell(owned.slot, range);
        place = cell;
        cell += same_slot.count;
      }
      place = range.warp.from_lane(place, same_slot.first) + same_slot.before;
      const int bag = range.ends.bag_of(range.warp, position);
      const Peers same_bag = Peers::of(exists ? owned.slot * bags_per_range + bag : -1, lane);
      if (exists) {
        set(of.out_ids[place], owned.local_row);
        if (of.weights != nullptr) of.out_weights[place] = read_only(of.weights + range.ends.begin() + position);
        if (same_bag.before == 0) {
          auto& length = of.first_length(owned.slot, range)[bag];
          set(length, length + same_bag.count);
        }
      }
      wait_for_lanes();
    });
  }
};

/// Sets all cells and lengths to 0.
template <class Exec, class Length>
void clear(const Exec& exec, const Array<Exec, std::int64_t>& cells, const Array<Exec, Length>& lengths) {
  const auto cell_count = static_cast<std::int64_t>(cells.extent(0)),
             length_count = static_cast<std::int64_t>(lengths.extent(0));
  Kokkos::parallel_for(
      "shardmark::bucketize_clear", static_range(exec, Kokkos::max(cell_count, length_count)),
      KOKKOS_LAMBDA(const std::int64_t i) {
        if (i < cell_count) cells(i) = 0;
        if (i < length_count) lengths(i) = 0;
      });
}

/// Replaces every cell by the sum of those before it.
template <class Exec>
void sum_before(const Exec& exec, const Array<Exec, std::int64_t>& cells) {
  Kokkos::parallel_scan(
      "shardmark::bucketize_scan", static_range(exec, static_cast<std::int64_t>(cells.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t c, std::int64_t& sum, const bool final) {
        const std::int64_t count = cells(c);
        if (final) cells(c) = sum;
        sum += count;
      });
}

template <class Exec, class Ranges>
void count_slots(const Exec& exec, const Ranges& ranges, const Array<Exec, std::int64_t>& counts) {
  Kokkos::parallel_for(
      "shardmark::bucketize_slot_counts", static_range(exec, ranges.slot_count),
      KOKKOS_LAMBDA(const std::int64_t slot) {
        counts(slot) = ranges.cells[ranges.first_cell(slot + 1)] - ranges.cells[ranges.first_cell(slot)];
      });
}

/// Lists the ranges before each strip and behind the last, then the place of the first id of each strip where one slot
/// holds each. It copies the list to the device when it is another one than before, and returns how many ranges there
/// are.
template <class Ranges, class Exec>
std::int64_t list_strips(const Exec& exec, const KnownStrips& known, std::int64_t slot_count,
                         BucketizeWorkspace<Exec>& workspace) {
  std::vector<std::int64_t> list{0};
  for (const std::int64_t bags : known.bags) list.push_back(list.back() + Ranges::ranges_of(bags));
  const std::int64_t ranges = list.back();
  if (!known.slots.empty()) {
    std::vector<std::int64_t> first_id(static_cast<std::size_t>(slot_count) + 1);
    for (std::size_t s = 0; s < known.slots.size(); ++s) first_id[known.slots[s] + 1] = known.ids[s];
    for (std::size_t slot = 1; slot < first_id.size(); ++slot) first_id[slot] += first_id[slot - 1];
    for (const std::int64_t slot : known.slots) list.push_back(first_id[slot]);
  }
  if (list != workspace.listed) {
    workspace.first_range.holding(exec, list);
    workspace.listed = std::move(list);
  }
  return ranges;
}

template <class Exec, class InputIndex, class Length, class Index>
bool bucketize(const Exec& exec, const RowOwners<Exec>& owners, const Bags<Exec, InputIndex>& bags,
               const Buckets<Exec, Length, Index>& out, const Array<Exec, std::int64_t>& slot_counts,
               BucketizeWorkspace<Exec>& workspace, const KnownStrips& known) {
  using Ranges = StripRanges<Exec, InputIndex, Length, Index>;
  Ranges ranges{owners.strips.data(),
                owners.blocks.data(),
                owners.owners.data(),
                owners.buckets.data(),
                bags.first_bag.data(),
                bags.offsets.data(),
                bags.indices.data(),
                bags.weights.extent(0) > 0 ? bags.weights.data() : nullptr,
                out.first_bag.data(),
                out.lengths.data(),
                out.ids.data(),
                out.weights.data(),
                nullptr,
                nullptr,
                static_cast<std::int64_t>(owners.strips.extent(0)),
                static_cast<std::int64_t>(out.first_bag.extent(0)),
                static_cast<std::int64_t>(out.lengths.extent(0)),
                places_for_warps(exec)};
  const std::int64_t range_count = list_strips<Ranges>(exec, known, ranges.slot_count, workspace);
  ranges.warps = Kokkos::clamp(ranges.warps, std::int64_t{1}, Kokkos::max(range_count, std::int64_t{1}));
  ranges.first_range = workspace.first_range.first(std::ssize(workspace.listed)).data();
  if (!known.slots.empty()) {
    for_lanes<typename Ranges::Bounds>("shardmark::bucketize_copy", exec, ranges.warps,
                                       CopyStrips<Ranges>{ranges, ranges.first_range + ranges.strip_count + 1});
    return false;
  }
  const Array<Exec, std::int64_t> cells = workspace.cursors.first(ranges.cell_count() + 1);
  ranges.cells = cells.data();
  clear(exec, cells, out.lengths);
  for_lanes<typename Ranges::Bounds>("shardmark::bucketize_count", exec, ranges.warps, CountIds<Ranges>{ranges});
  sum_before(exec, cells);
  count_slots(exec, ranges, slot_counts);
  for_lanes<typename Ranges::Bounds>("shardmark::bucketize_fill", exec, ranges.warps, FillBuckets<Ranges>{ranges});
  return true;
}

}  // namespace shardmark::kernels::device
