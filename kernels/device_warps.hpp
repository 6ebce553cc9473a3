// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "kernels/device_chunks.hpp"

/// Is defined where lanes are threads of their own: on a device, and where a test emulates them on a processor
/// (test/emulated/). Elsewhere the functions of lanes are never called.
#if defined(__CUDA_ARCH__) || defined(SHARDMARK_EMULATED_DEVICE)
#define SHARDMARK_LANES
#endif

namespace shardmark::kernels::device {

/// Counts the lanes of a warp, which run in step.
inline constexpr int warp_lanes = 32;
/// Counts those of a team: one of the blocks that are launched.
inline constexpr int team_lanes = 256;

/// Returns how many warps the device has places for.
template <class Exec>
std::int64_t places_for_warps(const Exec& exec) {
  return exec.concurrency() / warp_lanes;
}

/// Calls kernel(i) for the lanes of `count` warps; i is lane i % warp_lanes of warp i / warp_lanes. Every lane of a
/// warp has to come to each of the functions of whole warps.
template <class Bounds, class Exec, class Kernel>
void for_lanes([[maybe_unused]] const std::string& label, [[maybe_unused]] const Exec& exec, std::int64_t count,
               const Kernel& kernel) {
#ifdef SHARDMARK_EMULATED_DEVICE
  emulated::for_lanes(count, kernel);
#else
  Kokkos::parallel_for(
      label,
      Kokkos::RangePolicy<Exec, Bounds, AsArguments, Kokkos::IndexType<std::int64_t> >(exec, 0, count * warp_lanes),
      kernel);
#endif
}

/// Returns how many of the items a warp should take: `wanted`, or so few that every part of the device has work.
template <class Exec>
std::int64_t items_per_warp(const Exec& exec, std::int64_t items, std::int64_t wanted) {
  const std::int64_t warps = places_for_warps(exec) / 2;
  return Kokkos::clamp(items / Kokkos::max(warps, std::int64_t{1}), std::int64_t{1}, wanted);
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

/// Is a part of a warp, as one of its lanes sees it: those that share one vector, each with some of its columns.
struct WarpTile {
  int lanes;         ///< a power of two
  int lane;          ///< number of this one in the tile
  unsigned in_step;  ///< a bit for each lane of the warp that comes to the functions of its tile together with this one

  /// Returns the value that a lane of the tile has.
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION T from_lane(T value, [[maybe_unused]] int from) const {
#ifdef SHARDMARK_LANES
    return __shfl_sync(in_step, value, from, lanes);
#else
    return value;
#endif
  }

  /// Returns the sum of the values of all lanes: neighbours are added, then pairs, then fours and so on, so that lanes
  /// with 0 behind the others do not change it.
  KOKKOS_FORCEINLINE_FUNCTION float sum(float value) const {
#ifdef SHARDMARK_LANES
    for (int distance = 1; distance < lanes; distance *= 2) value += __shfl_xor_sync(in_step, value, distance);
#endif
    return value;
  }

  /// Returns the sum of the values of the lanes up to this one.
  KOKKOS_FORCEINLINE_FUNCTION int sum_until(int value) const {
    for (int distance = 1; distance < lanes; distance *= 2) {
      const int before = from_lane(value, lane - distance);
      if (lane >= distance) value += before;
    }
    return value;
  }
};

/// Is one of the tiles of a warp in step, which share its items.
struct NumberedTile : WarpTile {
  int number;  ///< of the tile in its warp
  int others;  ///< log2 of the number of tiles in the warp

  KOKKOS_FORCEINLINE_FUNCTION int tiles() const { return 1 << others; }
  /// Returns how many of `items` each tile takes.
  KOKKOS_FORCEINLINE_FUNCTION int share(std::int64_t items) const {
    return static_cast<int>((items + tiles() - 1) >> others);
  }
};

/// Returns the tile of a lane of a warp whose tiles have at least `wanted` lanes (or a whole warp), and at least 4.
KOKKOS_FORCEINLINE_FUNCTION NumberedTile tile_of(int lane, std::int64_t wanted) {
  const int bits = 2 + (wanted > 4) + (wanted > 8) + (wanted > 16);
  return {{1 << bits, lane & ((1 << bits) - 1), 0xffffffffU}, lane >> bits, 5 - bits};
}

KOKKOS_FORCEINLINE_FUNCTION WarpTile whole_warp(int lane) { return tile_of(lane, warp_lanes); }

/// Returns how many lanes of a tile take `count` items at once.
inline int tile_lanes(std::int64_t count) {
  int lanes = 1;
  while (lanes < warp_lanes && lanes < count) lanes *= 2;
  return lanes;
}

/// Calls kernel(tile, its number, how many there are), as for_tiles says.
template <class Kernel>
struct TileKernel {
  Kernel kernel;
  int lanes;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    int lane = 0, in_warp = 0;
#ifdef __CUDA_ARCH__
    lane = static_cast<int>(threadIdx.x);
    in_warp = static_cast<int>((threadIdx.y * blockDim.x + threadIdx.x) % warp_lanes);
#endif
    on_lane(lane, in_warp, static_cast<std::int64_t>(team.league_rank()) * team.team_size() + team.team_rank(),
            static_cast<std::int64_t>(team.league_size()) * team.team_size());
  }
  KOKKOS_FORCEINLINE_FUNCTION void on_lane(int lane, int in_warp, std::int64_t number, std::int64_t tiles) const {
    const unsigned in_step = (0xffffffffU >> (warp_lanes - lanes)) << (in_warp - lane);
    kernel(WarpTile{lanes, lane, in_step}, number, tiles);
  }
};

/// Calls kernel(tile, its number, how many there are) for the lanes of at least `count` tiles. Each tile goes its own
/// way: its lanes have to come to its functions, but not to those of whole warps. Traits: launch bounds.
template <class... Traits, class Exec, class Kernel>
void for_tiles([[maybe_unused]] const std::string& label, [[maybe_unused]] const Exec& exec, std::int64_t count,
               int lanes, const Kernel& kernel) {
  const TileKernel<Kernel> on_tiles{kernel, lanes};
#ifdef SHARDMARK_EMULATED_DEVICE
  const std::int64_t per_warp = warp_lanes / lanes, warps = (count + per_warp - 1) / per_warp;
  emulated::for_lanes(warps, [on_tiles, lanes, warps, per_warp](std::int64_t i) {
    on_tiles.on_lane(static_cast<int>(i % lanes), static_cast<int>(i % warp_lanes), i / lanes, warps * per_warp);
  });
#else
  const int team = team_lanes / lanes;
  const auto teams = static_cast<int>((count + team - 1) / team);
  Kokkos::parallel_for(label, Kokkos::TeamPolicy<Exec, AsArguments, Traits...>(exec, teams, team, lanes), on_tiles);
#endif
}

/// Returns how many tiles run at a time on a device whose multiprocessors have places for 64 warps and registers for
/// `teams` teams: tile t takes the items t, t + that number, .., of which only the device may know how many there are.
template <class Exec>
std::int64_t places_for_tiles(const Exec& exec, int lanes, int teams) {
  constexpr int warps_per_team = team_lanes / warp_lanes;
  return places_for_warps(exec) * teams * warps_per_team / 64 * (warp_lanes / lanes);
}

/// Holds consecutive values of an array, at most as many as a tile has lanes: each of these reads one, all at once.
template <class T>
class Window {
 public:
  KOKKOS_FORCEINLINE_FUNCTION void read(const WarpTile& tile, const T* from, std::int64_t count) {
    held_ = tile.lane < count ? read_only(from + tile.lane) : T{};
  }
  /// Returns value i, or 0 behind the last.
  KOKKOS_FORCEINLINE_FUNCTION T at(const WarpTile& tile, int i) const { return tile.from_lane(held_, i); }

 private:
  T held_{};
};

/// Holds the ends of consecutive bags, at most as many as a tile has lanes, relative to the begin of the first; they
/// have fewer than 2^31 ids together.
class BagEnds {
 public:
  /// Reads those of the `bags` bags that begin at offsets[0].
  KOKKOS_FORCEINLINE_FUNCTION BagEnds(const WarpTile& tile, const std::int64_t* offsets, int bags)
      : begin_(read_only(offsets)), length_(static_cast<int>(read_only(offsets + bags) - begin_)) {
    held_ = tile.lane < bags ? static_cast<int>(read_only(offsets + 1 + tile.lane) - begin_)
                             : std::numeric_limits<int>::max();
  }

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t begin() const { return begin_; }
  /// Returns how many ids the bags have together.
  KOKKOS_FORCEINLINE_FUNCTION int length() const { return length_; }

  /// Returns whether the first `bags` bags have an id each, as far as this lane knows.
  KOKKOS_FORCEINLINE_FUNCTION bool single(const WarpTile& tile, int bags) const {
    return tile.lane >= bags || held_ == tile.lane + 1;
  }

  /// Returns the end of a bag, or any number if there is no such bag.
  KOKKOS_FORCEINLINE_FUNCTION int at(const WarpTile& tile, int bag) const { return tile.from_lane(held_, bag); }

  /// Returns the bag of a position in [0, length()), or any for one behind, if the tile is a whole warp.
  KOKKOS_FORCEINLINE_FUNCTION int bag_of(const WarpTile& tile, int position) const {
    int bag = 0;
    for (int step = warp_lanes / 2; step > 0; step /= 2)
      if (at(tile, bag + step - 1) <= position) bag += step;
    return bag;
  }

 private:
  std::int64_t begin_;
  int length_, held_;
};

}  // namespace shardmark::kernels::device
