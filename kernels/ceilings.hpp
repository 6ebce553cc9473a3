// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "kernels/array.hpp"
#include "kernels/row_sum.hpp"

namespace shardmark::kernels {

/// What a kernel is held against: the fastest that the same rows can be moved when nothing else is done. Each ceiling
/// has a few settings; fastest_setting() tries them on the rows and keys at hand.

/// Seconds of body(), from all work before it done to its own done.
template <class Exec, class Body>
double seconds(const Exec& exec, const Body& body) {
  exec.fence("shardmark::seconds: begin");
  const Kokkos::Timer timer;
  body();
  exec.fence("shardmark::seconds: end");
  return timer.seconds();
}

/// Rows back to back, as 32-bit words whatever their type.
struct WordRows {
  std::uint32_t* words = nullptr;
  std::int64_t row_words = 0;
};

/// How far ahead rows are asked for, and how many rows a thread takes at a time.
struct GatherSetting {
  std::int64_t prefetch;
  std::int64_t grain;
};
inline constexpr std::array gather_settings{GatherSetting{8, 512},   GatherSetting{16, 512},  GatherSetting{32, 512},
                                            GatherSetting{12, 4096}, GatherSetting{16, 4096}, GatherSetting{32, 4096},
                                            GatherSetting{64, 4096}, GatherSetting{16, 16384}};
inline constexpr std::int64_t smallest_grain = 512;

namespace detail {

/// Methods, not lambdas, ask for rows: GCC 12 takes a lambda that only prefetches for one without effect.
template <class Exec>
struct GatherRows {
  WordRows rows;
  ConstArray<Exec, std::int64_t> keys;
  GatherSetting setting;
  Array<Exec, std::uint32_t> sink;

  KOKKOS_FORCEINLINE_FUNCTION const std::uint32_t* ask_for(std::int64_t i, std::int64_t words) const {
    const std::uint32_t* row = rows.words + keys(i) * words;
    prefetch(row, words * 4);
    return row;
  }

  template <class Words>
  KOKKOS_FORCEINLINE_FUNCTION void sum_range(std::int64_t range, std::int64_t begin, std::int64_t end,
                                             Words words) const {
    for (std::int64_t i = begin; i < Kokkos::min(begin + setting.prefetch, end); ++i) ask_for(i, words);
    for_column_tiles(words, [&](std::int64_t column, auto width) {
      std::uint32_t sum[decltype(width)::capacity] = {};
      for (std::int64_t i = begin; i < end; ++i) {
        if (column == 0) ask_for(Kokkos::min(i + setting.prefetch, end - 1), words);
        const std::uint32_t* row = rows.words + keys(i) * std::int64_t{words} + column;
        for (std::int64_t w = 0; w < width; ++w) sum[w] += row[w];
      }
      for (std::int64_t w = 0; w < width; ++w) sink(range * words + column + w) = sum[w];
    });
  }

  KOKKOS_FUNCTION void operator()(std::int64_t range) const {
    const std::int64_t end = Kokkos::min(static_cast<std::int64_t>(keys.extent(0)), (range + 1) * setting.grain);
    with_width(rows.row_words, [&](auto words) { sum_range(range, range * setting.grain, end, words); });
  }
};

template <class Exec>
struct ModifyRows {
  WordRows rows;
  WordRows state;
  ConstArray<Exec, std::int64_t> keys;
  GatherSetting setting;
  std::uint32_t add;

  static KOKKOS_FORCEINLINE_FUNCTION void prefetch_to_write([[maybe_unused]] const std::uint32_t* row,
                                                            [[maybe_unused]] std::int64_t words) {
    KOKKOS_IF_ON_HOST((for (std::int64_t w = 0; w < words; w += 16) __builtin_prefetch(row + w, 1);))
  }
  KOKKOS_FORCEINLINE_FUNCTION void ask_for(std::int64_t i) const {
    prefetch_to_write(rows.words + keys(i) * rows.row_words, rows.row_words);
    prefetch_to_write(state.words + keys(i) * state.row_words, state.row_words);
  }

  template <class Words>
  KOKKOS_FORCEINLINE_FUNCTION void modify_range(std::int64_t begin, std::int64_t end, Words words) const {
    for (std::int64_t i = begin; i < Kokkos::min(begin + setting.prefetch, end); ++i) ask_for(i);
    for (std::int64_t i = begin; i < end; ++i) {
      ask_for(Kokkos::min(i + setting.prefetch, end - 1));
      std::uint32_t* row = rows.words + keys(i) * std::int64_t{words};
      for (std::int64_t w = 0; w < words; ++w) row[w] += add;
      std::uint32_t* beside = state.words + keys(i) * state.row_words;
      for (std::int64_t w = 0; w < state.row_words; ++w) beside[w] += add;
    }
  }

  KOKKOS_FUNCTION void operator()(std::int64_t range) const {
    const std::int64_t end = Kokkos::min(static_cast<std::int64_t>(keys.extent(0)), (range + 1) * setting.grain);
    with_width(rows.row_words, [&](auto words) { modify_range(range * setting.grain, end, words); });
  }
};

}  // namespace detail

/// Random row gather: the rows of `keys`, in their order, added up in registers; all that is written is the sum of each
/// `grain` keys, to sink [(keys / smallest_grain + 1) * row_words].
template <class Exec>
void gather_rows(const Exec& exec, const WordRows& rows, ConstArray<Exec, std::int64_t> keys,
                 const GatherSetting& setting, Array<Exec, std::uint32_t> sink) {
  const auto count = static_cast<std::int64_t>(keys.extent(0));
  Kokkos::parallel_for("shardmark::gather_rows", dynamic_range(exec, (count + setting.grain - 1) / setting.grain),
                       detail::GatherRows<Exec>{rows, keys, setting, sink});
}

/// Random read-modify-write: `add`, which is to be 0, is added to every word of the rows of `keys` and of the state
/// beside them (row_words 0: none). `keys` must be distinct.
template <class Exec>
void modify_rows(const Exec& exec, const WordRows& rows, const WordRows& state, ConstArray<Exec, std::int64_t> keys,
                 const GatherSetting& setting, std::uint32_t add) {
  const auto count = static_cast<std::int64_t>(keys.extent(0));
  Kokkos::parallel_for("shardmark::modify_rows", dynamic_range(exec, (count + setting.grain - 1) / setting.grain),
                       detail::ModifyRows<Exec>{rows, state, keys, setting, add});
}

/// The setting for which run(setting) takes the shortest time, the best of `rounds` calls each.
template <class Exec, class Run>
GatherSetting fastest_setting(const Exec& exec, int rounds, const Run& run) {
  std::array<double, gather_settings.size()> best;
  best.fill(std::numeric_limits<double>::infinity());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t s = 0; s < gather_settings.size(); ++s)
      best[s] = std::min(best[s], seconds(exec, [&] { run(gather_settings[s]); }));
  return gather_settings[static_cast<std::size_t>(std::min_element(best.begin(), best.end()) - best.begin())];
}

/// Streaming triad of McCalpin's STREAM, a[i] = b[i] + factor c[i]: 12 bytes per element, not counting that a's lines
/// are read before they are written.
template <class Exec>
void triad(const Exec& exec, Array<Exec, float> a, ConstArray<Exec, float> b, ConstArray<Exec, float> c, float factor) {
  Kokkos::parallel_for(
      "shardmark::triad", static_range(exec, static_cast<std::int64_t>(a.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { a(i) = b(i) + factor * c(i); });
}
inline constexpr std::int64_t triad_bytes_per_element = 12;

}  // namespace shardmark::kernels
