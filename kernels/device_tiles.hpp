// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/array.hpp"

/// Stands before loops over arrays in registers, which nvcc must unroll.
#ifdef __CUDA_ARCH__
#define SHARDMARK_UNROLL _Pragma("unroll")
#else
#define SHARDMARK_UNROLL
#endif

namespace shardmark::kernels::device {

/// A team is 32 tiles of 8 threads, or 8 tiles of a whole warp. A tile shares one bag or one row.
inline constexpr int team_threads = 256;

/// Says whether a tile is one thread that does what all of them would, since threads cannot share: on a processor.
template <class Exec>
inline constexpr bool tile_is_thread =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible;

/// Returns a policy for `count` tiles of `width` threads. Where threads cannot share, on a processor, a tile is one
/// thread that does what all of them would: the code is the same. Traits: a work tag.
template <class... Traits, class Exec>
auto tiles(const Exec& exec, std::int64_t count, int width) {
  const int team = tile_is_thread<Exec> ? 1 : team_threads / width;
  const auto teams = static_cast<int>((count + team - 1) / team);
  return Kokkos::TeamPolicy<Exec, Traits...>(exec, teams, team, tile_is_thread<Exec> ? 1 : width);
}

template <class Team>
KOKKOS_FORCEINLINE_FUNCTION std::int64_t tile_number(const Team& team) {
  return static_cast<std::int64_t>(team.league_rank()) * team.team_size() + team.team_rank();
}

/// Holds Size values in a row, read or written at once: at a multiple of their size.
template <class T, int Size>
struct alignas(sizeof(T) * Size) Chunk {
  T at[Size];
};

template <int Size, class T>
KOKKOS_FORCEINLINE_FUNCTION Chunk<T, Size> load_chunk(const T* from) {
  return *reinterpret_cast<const Chunk<T, Size>*>(from);
}
template <int Size, class T>
KOKKOS_FORCEINLINE_FUNCTION void store_chunk(T* to, const Chunk<T, Size>& chunk) {
  *reinterpret_cast<Chunk<T, Size>*>(to) = chunk;
}

#ifdef __CUDA_ARCH__
namespace detail {
template <std::size_t bytes>
struct Word;
template <>
struct Word<16> : std::type_identity<uint4> {};
template <>
struct Word<8> : std::type_identity<uint2> {};
template <>
struct Word<4> : std::type_identity<unsigned int> {};
template <>
struct Word<2> : std::type_identity<unsigned short> {};
template <>
struct Word<1> : std::type_identity<unsigned char> {};
template <class T>
using WordOf = typename Word<sizeof(T)>::type;
}  // namespace detail
#endif

/// Loads a Value, at a multiple of its size, from global memory that no thread of the kernel writes.
template <class Value, class T>
KOKKOS_FORCEINLINE_FUNCTION Value load_read_only_as(const T* from) {
#ifdef __CUDA_ARCH__
  return Kokkos::bit_cast<Value>(__ldg(reinterpret_cast<const detail::WordOf<Value>*>(from)));
#else
  Value value;
  std::memcpy(&value, from, sizeof value);
  return value;
#endif
}
template <int Size, class T>
KOKKOS_FORCEINLINE_FUNCTION Chunk<T, Size> load_read_only(const T* from) {
  return load_read_only_as<Chunk<T, Size>>(from);
}
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T read_only(const T* from) {
  return load_read_only_as<T>(from);
}

/// Stores what the kernel reads no more, so that it leaves the caches first.
template <int Size, class T>
KOKKOS_FORCEINLINE_FUNCTION void store_streaming(T* to, const Chunk<T, Size>& chunk) {
#ifdef __CUDA_ARCH__
  using Word = detail::WordOf<Chunk<T, Size>>;
  __stcs(reinterpret_cast<Word*>(to), Kokkos::bit_cast<Word>(chunk));
#else
  store_chunk<Size>(to, chunk);
#endif
}

KOKKOS_FORCEINLINE_FUNCTION bool aligned(const void* address, std::int64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(bytes) == 0;
}

template <class Team>
KOKKOS_FORCEINLINE_FUNCTION std::int64_t tile_count(const Team& team) {
  return static_cast<std::int64_t>(team.league_size()) * team.team_size();
}

/// Returns a policy for as many tiles as run at a time, at most `count`, on a device whose multiprocessors have room
/// for 2048 threads and registers for `teams` teams: tile t takes the items t, t + tile_count, .., of which only the
/// device may know how many there are.
template <class... Traits, class Exec>
auto resident_tiles(const Exec& exec, std::int64_t count, int width, int teams) {
  const std::int64_t places =
      tile_is_thread<Exec> ? exec.concurrency() : exec.concurrency() / 2048 * teams * (team_threads / width);
  return tiles<Traits...>(exec, std::min(count, places), width);
}

/// Returns how many threads of a tile, a power of two up to a warp, take `count` items at once.
inline int tile_width(std::int64_t count) {
  int width = 1;
  while (width < 32 && width < count) width *= 2;
  return width;
}

/// Is a tile as one of its threads sees it. What a thread keeps in registers lies in arrays of `kept` elements; a
/// thread that is a whole tile keeps it for all of them.
template <class Exec>
struct Tile {
  static constexpr int kept = tile_is_thread<Exec> ? 32 : 1;
  int width;

  /// Calls body(thread, its element of arrays of `kept`) for the threads of the tile.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_thread(const Body& body) const {
    if constexpr (tile_is_thread<Exec>)
      for (int thread = 0; thread < width; ++thread) body(thread, thread);
    else
      body(own_thread(), 0);
  }

  /// Returns to every thread the sum of the values of all: neighbours are added, then pairs, then fours and so on, so
  /// that threads with 0 behind the others do not change it.
  KOKKOS_FORCEINLINE_FUNCTION float sum(const float (&values)[kept]) const {
    float sums[kept];
    for (int i = 0; i < kept; ++i) sums[i] = values[i];
    for (int distance = 1; distance < width; distance *= 2) {
#ifdef __CUDA_ARCH__
      sums[0] += __shfl_xor_sync(mask(), sums[0], distance);
#else
      for (int i = 0; i + distance < kept; i += 2 * distance) sums[i] += sums[i + distance];
#endif
    }
    return sums[0];
  }

  /// Returns to every thread the value of the first.
  KOKKOS_FORCEINLINE_FUNCTION float of_first(const float (&values)[kept]) const { return of_thread(values[0], 0); }

  /// Returns to every thread the value that thread `from` has, or its own where it is the tile.
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION T of_thread(T value, [[maybe_unused]] int from) const {
#ifdef __CUDA_ARCH__
    return __shfl_sync(mask(), value, from, width);
#else
    return value;
#endif
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static int own_thread() {
#ifdef __CUDA_ARCH__
    return static_cast<int>(threadIdx.x);
#else
    return 0;
#endif
  }
#ifdef __CUDA_ARCH__
  /// Returns the bits of the threads of the tile among those of its warp.
  __device__ __forceinline__ unsigned mask() const {
    const unsigned in_warp = (threadIdx.y * blockDim.x + threadIdx.x) % 32;
    return (0xffffffffU >> (32 - width)) << (in_warp - threadIdx.x % 32);
  }
#endif
};

/// Reads Size values at once from global memory, where pointers that lie in memory are not known to point.
template <int Size, class T>
KOKKOS_FORCEINLINE_FUNCTION Chunk<T, Size> load_global(const T* from) {
#ifdef __CUDA_ARCH__
  __builtin_assume(__isGlobal(from));
#endif
  return load_chunk<Size>(from);
}
/// Writes Size values at once to global memory.
template <int Size, class T>
KOKKOS_FORCEINLINE_FUNCTION void store_global(T* to, const Chunk<T, Size>& chunk) {
#ifdef __CUDA_ARCH__
  using Word = detail::WordOf<Chunk<T, Size>>;
  __builtin_assume(__isGlobal(to));
  const Word word = Kokkos::bit_cast<Word>(chunk);
  *reinterpret_cast<Word*>(to) = word;
#else
  store_chunk<Size>(to, chunk);
#endif
}

/// Reads four columns, of which `count` exist; the others become 0. Nothing is done with them, which would wait for
/// them.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION Chunk<T, 4> read_four(const T* from, int count) {
  if (count >= 4 && aligned(from, sizeof(Chunk<T, 4>))) return load_global<4>(from);
  Chunk<T, 4> four{};
  SHARDMARK_UNROLL for (int i = 0; i < 4; ++i) {
    if (i < count) four.at[i] = load_global<1>(from + i).at[0];
  }
  return four;
}
/// Writes the first `count` of four columns.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void write_four(T* to, const Chunk<T, 4>& four, int count) {
  if (count >= 4 && aligned(to, sizeof(four))) {
    store_global<4>(to, four);
  } else {
    SHARDMARK_UNROLL for (int i = 0; i < 4; ++i) {
      if (i < count) store_global<1>(to + i, Chunk<T, 1>{{four.at[i]}});
    }
  }
}

}  // namespace shardmark::kernels::device
