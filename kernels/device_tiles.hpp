// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <type_traits>

#include "kernels/array.hpp"

namespace shardmark::kernels::device {

/// A team is 32 tiles of 8 threads, or 8 tiles of a whole warp. A tile shares one bag or one row.
inline constexpr int team_threads = 256;

/// Returns a policy for `count` tiles of `width` threads. Where threads cannot share, on a processor, a tile is one
/// thread that does what all of them would: the code is the same. Traits: a work tag.
template <class... Traits, class Exec>
auto tiles(const Exec& exec, std::int64_t count, int width) {
  constexpr bool alone = Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible;
  const int team = alone ? 1 : team_threads / width;
  const auto teams = static_cast<int>((count + team - 1) / team);
  return Kokkos::TeamPolicy<Exec, Traits...>(exec, teams, team, alone ? 1 : width);
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

}  // namespace shardmark::kernels::device
