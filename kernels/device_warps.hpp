// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "kernels/device_tiles.hpp"
#include "kernels/sort/balanced_ranges.hpp"

/// Is defined where lanes are threads of their own: on a device, and where a test emulates them on a processor
/// (test/emulated_warps.hpp, which is included before all else).
#if defined(__CUDA_ARCH__) || defined(SHARDMARK_EMULATED_WARPS)
#define SHARDMARK_LANES
#endif

namespace shardmark::kernels::device {

/// Counts the lanes of a warp, which run in step. Where threads cannot share, on a processor, it has one lane, which
/// does what all of them would: the code is the same.
#ifdef SHARDMARK_EMULATED_WARPS
template <class Exec>
inline constexpr int warp_lanes = emulated::warp_size;
#else
template <class Exec>
inline constexpr int warp_lanes = tile_is_thread<Exec> ? 1 : 32;
#endif

/// Calls kernel(i) for the lanes of `count` warps; i is lane i % warp_lanes of warp i / warp_lanes. Every lane of a
/// warp has to come to each of the functions below.
template <class Bounds, class Exec, class Kernel>
void for_lanes([[maybe_unused]] const std::string& label, [[maybe_unused]] const Exec& exec, std::int64_t count,
               const Kernel& kernel) {
#ifdef SHARDMARK_EMULATED_WARPS
  emulated::for_lanes(count, kernel);
#else
  Kokkos::parallel_for(
      label, Kokkos::RangePolicy<Exec, Bounds, Kokkos::IndexType<std::int64_t> >(exec, 0, count * warp_lanes<Exec>),
      kernel);
#endif
}

/// Returns how many of the items a warp should take: `wanted`, or so few that every part of the device has work.
template <class Exec>
std::int64_t items_per_warp(const Exec& exec, std::int64_t items, std::int64_t wanted) {
  const std::int64_t warps = exec.concurrency() / 64;  // half of those of 32 lanes that fit
  return Kokkos::clamp(items / Kokkos::max(warps, std::int64_t{1}), std::int64_t{1}, wanted);
}

/// Returns the value that lane `from` of the tile of `width` lanes has; width is a power of two.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T from_lane(T value, [[maybe_unused]] int from, [[maybe_unused]] int width) {
#ifdef SHARDMARK_LANES
  return __shfl_sync(0xffffffffU, value, from, width);
#else
  return value;
#endif
}

KOKKOS_FORCEINLINE_FUNCTION bool all_lanes(bool value) {
#ifdef SHARDMARK_LANES
  return __all_sync(0xffffffffU, value) != 0;
#else
  return value;
#endif
}

KOKKOS_FORCEINLINE_FUNCTION bool any_lane(bool value) {
#ifdef SHARDMARK_LANES
  return __any_sync(0xffffffffU, value) != 0;
#else
  return value;
#endif
}

/// Returns the largest value that a lane of the warp has.
KOKKOS_FORCEINLINE_FUNCTION int largest(int value) {
#ifdef SHARDMARK_LANES
  return __reduce_max_sync(0xffffffffU, value);
#else
  return value;
#endif
}

/// Lets the lanes of a warp read what the others have written.
KOKKOS_FORCEINLINE_FUNCTION void wait_for_lanes() {
#ifdef SHARDMARK_LANES
  __syncwarp();
#endif
}

/// Says which lanes of a warp have the same key as this one.
struct Peers {
  int count;   ///< of them all
  int before;  ///< of those with a smaller number than this lane
  int first;   ///< number of the first

  /// Finds them; `lane`: number of this lane.
  KOKKOS_FORCEINLINE_FUNCTION static Peers of([[maybe_unused]] std::int64_t key, [[maybe_unused]] int lane) {
#ifdef SHARDMARK_LANES
    const unsigned same = __match_any_sync(0xffffffffU, static_cast<unsigned long long>(key));
    return {__popc(same), __popc(same & ((1U << lane) - 1U)), __ffs(static_cast<int>(same)) - 1};
#else
    return {1, 0, 0};
#endif
  }
};

/// Is a part of a warp: the lanes that share one vector, each with some of its columns.
struct WarpTile {
  int bits;    ///< log2 of the number of lanes
  int lane;    ///< number of this lane in its tile
  int number;  ///< of the tile in its warp
  int others;  ///< log2 of the number of tiles in the warp

  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return 1 << bits; }
  KOKKOS_FORCEINLINE_FUNCTION int tiles() const { return 1 << others; }
  /// Returns how many of `items` each tile takes.
  KOKKOS_FORCEINLINE_FUNCTION int share(std::int64_t items) const {
    return static_cast<int>((items + tiles() - 1) >> others);
  }
};

/// Returns the tile of a lane of a warp whose tiles have at least `wanted` lanes (or a whole warp), and at least 4.
template <class Exec>
KOKKOS_FORCEINLINE_FUNCTION WarpTile tile_of(int lane, std::int64_t wanted) {
  if constexpr (warp_lanes<Exec> == 1) return {0, 0, 0, 0};
  const int bits = 2 + (wanted > 4) + (wanted > 8) + (wanted > 16);
  return {bits, lane & ((1 << bits) - 1), lane >> bits, 5 - bits};
}

template <class Exec>
KOKKOS_FORCEINLINE_FUNCTION WarpTile whole_warp(int lane) {
  return tile_of<Exec>(lane, warp_lanes<Exec>);
}

/// Holds consecutive values of an array, at most as many as a tile has lanes: each of these reads one, all at once.
template <class Exec, class T>
class Window {
 public:
  /// This is the number of values where a tile is a single lane, which reads them as they are asked for.
  static constexpr int alone = 8;

  KOKKOS_FORCEINLINE_FUNCTION static int capacity(const WarpTile& tile) {
    return warp_lanes<Exec> == 1 ? alone : tile.lanes();
  }

  KOKKOS_FORCEINLINE_FUNCTION void read(const WarpTile& tile, const T* from, std::int64_t count) {
    if constexpr (warp_lanes<Exec> == 1)
      held_ = {from, count};
    else
      held_ = tile.lane < count ? read_only(from + tile.lane) : T{};
  }

  /// Returns value i, or 0 behind the last.
  KOKKOS_FORCEINLINE_FUNCTION T at(const WarpTile& tile, int i) const {
    if constexpr (warp_lanes<Exec> == 1)
      return i < held_.count ? held_.from[i] : T{};
    else
      return from_lane(held_, i, tile.lanes());
  }

 private:
  struct Span {
    const T* from;
    std::int64_t count;
  };
  std::conditional_t<warp_lanes<Exec> == 1, Span, T> held_{};
};

/// Holds the ends of consecutive bags, at most as many as a tile has lanes, relative to the begin of the first; they
/// have fewer than 2^31 ids together.
template <class Exec>
class BagEnds {
 public:
  /// Reads those of the `bags` bags that begin at offsets[0].
  KOKKOS_FORCEINLINE_FUNCTION BagEnds(const WarpTile& tile, const std::int64_t* offsets, int bags)
      : begin_(read_only(offsets)), length_(static_cast<int>(read_only(offsets + bags) - begin_)) {
    if constexpr (warp_lanes<Exec> == 1)
      held_ = {offsets + 1, bags};
    else
      held_ = tile.lane < bags ? relative(offsets + 1 + tile.lane) : std::numeric_limits<int>::max();
  }

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t begin() const { return begin_; }
  /// Returns how many ids the bags have together.
  KOKKOS_FORCEINLINE_FUNCTION int length() const { return length_; }

  /// Returns the end of a bag, or any number if there is no such bag.
  KOKKOS_FORCEINLINE_FUNCTION int at(const WarpTile& tile, int bag) const {
    if constexpr (warp_lanes<Exec> == 1)
      return bag < held_.bags ? relative(held_.from + bag) : 0;
    else
      return from_lane(held_, bag, tile.lanes());
  }

  /// Returns the bag of a position in [0, length()), or any for one behind, if the tile is a whole warp.
  KOKKOS_FORCEINLINE_FUNCTION int bag_of(const WarpTile& tile, int position) const {
    if constexpr (warp_lanes<Exec> == 1) {
      return static_cast<int>(
          first_at_least(held_.bags, position + 1, [&](std::int64_t bag) { return relative(held_.from + bag); }));
    } else {
      int bag = 0;
      for (int step = warp_lanes<Exec> / 2; step > 0; step /= 2)
        if (at(tile, bag + step - 1) <= position) bag += step;
      return bag;
    }
  }

 private:
  struct Span {
    const std::int64_t* from;
    int bags;
  };

  KOKKOS_FORCEINLINE_FUNCTION int relative(const std::int64_t* end) const {
    return static_cast<int>(read_only(end) - begin_);
  }

  std::int64_t begin_;
  int length_;
  std::conditional_t<warp_lanes<Exec> == 1, Span, int> held_;
};

}  // namespace shardmark::kernels::device
