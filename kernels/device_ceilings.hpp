// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/ceilings.hpp"
#include "kernels/device_tiles.hpp"

namespace shardmark::kernels::device {

/// Gathers rows by a tile of 8 threads per key; Size words at a time.
template <class Exec, int Size>
struct GatherRows {
  static constexpr int width = 8;

  WordRows rows;
  ConstArray<Exec, std::int64_t> keys;
  Array<Exec, std::uint32_t> sink;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t i = tile_number(team);
    if (i >= static_cast<std::int64_t>(keys.extent(0))) return;
    const std::uint32_t* row = rows.words + keys(i) * rows.row_words;
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, width), [&](const int thread) {
      std::uint32_t sum = 0;
      for (std::int64_t w = thread * Size; w < rows.row_words; w += width * Size) {
        const auto words = load_chunk<Size>(row + w);
        for (int k = 0; k < Size; ++k) sum ^= words.at[k];
      }
      if (sum == 0x9e3779b9U) sink(0) = sum;  // hardly ever, but the compiler cannot know
    });
  }
};

template <class Exec>
struct ModifyRows {
  static constexpr int width = 32;

  WordRows rows, state;
  ConstArray<Exec, std::int64_t> keys;
  std::uint32_t add;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t i = tile_number(team);
    if (i >= static_cast<std::int64_t>(keys.extent(0))) return;
    modify(team, rows, keys(i));
    modify(team, state, keys(i));
  }

 private:
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION void modify(const Team& team, const WordRows& of, std::int64_t key) const {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, of.row_words),
                         [&](const std::int64_t w) { of.words[key * of.row_words + w] += add; });
  }
};

}  // namespace shardmark::kernels::device
