// SPDX-License-Identifier: Apache-2.0
#pragma once

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

KOKKOS_FORCEINLINE_FUNCTION bool aligned(const void* address, std::int64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(bytes) == 0;
}

}  // namespace shardmark::kernels::device
