// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "kernels/array.hpp"
#include "kernels/column_blocks.hpp"
#include "kernels/prefetch.hpp"
#include "kernels/streamed_output.hpp"

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

/// How many rows ahead of their turn rows are asked for, first into the second cache and then (0: not) into the first,
/// how many rows a thread takes at a time, and whether the second cache is asked for every other line only.
struct RowSetting {
  std::int64_t far;
  std::int64_t near;
  std::int64_t grain;
  bool in_pairs = false;
};
inline constexpr std::array row_settings{
    RowSetting{24, 0, 4096},      RowSetting{32, 0, 4096},  RowSetting{48, 0, 4096},  RowSetting{16, 8, 4096},
    RowSetting{32, 8, 4096},      RowSetting{48, 8, 4096},  RowSetting{32, 4, 4096},  RowSetting{32, 8, 16384},
    RowSetting{48, 8, 16384},     RowSetting{32, 0, 16384}, RowSetting{64, 8, 16384}, RowSetting{16, 0, 4096, true},
    RowSetting{32, 0, 4096, true}};
inline constexpr std::int64_t smallest_grain = 4096;

/// Words that are added up in one register.
inline constexpr std::int64_t sum_words = 16;

namespace detail {

/// The rows of `keys`, each asked for in time; `words` is their row_words, constant for usual dims. (Methods, since
/// GCC 12 takes a lambda that only prefetches for one without effect.)
template <class Exec>
struct RowsAhead {
  WordRows rows;
  ConstArray<Exec, std::int64_t> keys;
  RowSetting setting;

  template <class Words>
  KOKKOS_FORCEINLINE_FUNCTION std::uint32_t* row(std::int64_t i, Words words) const {
    return rows.words + keys(i) * std::int64_t{words};
  }
  template <class Words>
  KOKKOS_FORCEINLINE_FUNCTION void ask_for_first(std::int64_t begin, std::int64_t end, Words words) const {
    for (std::int64_t i = begin; i < Kokkos::min(begin + setting.far, end); ++i)
      prefetch(row(i, words), words * 4, setting.in_pairs);
  }
  template <class Words>
  KOKKOS_FORCEINLINE_FUNCTION void ask_ahead_of(std::int64_t i, std::int64_t end, Words words) const {
    prefetch(row(Kokkos::min(i + setting.far, end - 1), words), words * 4, setting.in_pairs);
    if (setting.near > 0) prefetch_near(row(Kokkos::min(i + setting.near, end - 1), words), words * 4);
  }
  std::int64_t ranges() const {
    return (static_cast<std::int64_t>(keys.extent(0)) + setting.grain - 1) / setting.grain;
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t end_of(std::int64_t range) const {
    return Kokkos::min(static_cast<std::int64_t>(keys.extent(0)), (range + 1) * setting.grain);
  }
};

template <class Exec>
struct GatherRows {
  RowsAhead<Exec> rows;
  Array<Exec, std::uint32_t> sink;

  KOKKOS_FUNCTION void operator()(std::int64_t range) const {
    with_width(rows.rows.row_words, [&](auto words) {
      const std::int64_t begin = range * rows.setting.grain;
      const std::int64_t end = rows.end_of(range);
      const std::int64_t whole = words / sum_words * sum_words;
      std::uint32_t sum[sum_words] = {};
      rows.ask_for_first(begin, end, words);
      for (std::int64_t i = begin; i < end; ++i) {
        rows.ask_ahead_of(i, end, words);
        const std::uint32_t* row = rows.row(i, words);
        for (std::int64_t w = 0; w < whole; w += sum_words)
          for (std::int64_t k = 0; k < sum_words; ++k) sum[k] += row[w + k];
        for (std::int64_t w = whole; w < words; ++w) sum[w - whole] += row[w];
      }
      for (std::int64_t k = 0; k < sum_words; ++k) sink(range * sum_words + k) = sum[k];
    });
  }
};

template <class Exec>
struct ModifyRows {
  RowsAhead<Exec> rows;
  RowsAhead<Exec> state;
  std::uint32_t add;

  KOKKOS_FUNCTION void operator()(std::int64_t range) const {
    with_width(rows.rows.row_words, [&](auto words) {
      const std::int64_t state_words = state.rows.row_words;
      if (state_words == 0)
        modify(range, words, Block<0>{});
      else if (state_words == 1)
        modify(range, words, Block<1>{});
      else if (state_words == words)
        modify(range, words, words);
      else
        modify(range, words, AnyWidth{state_words});
    });
  }

 private:
  template <class Words, class StateWords>
  KOKKOS_FORCEINLINE_FUNCTION void modify(std::int64_t range, Words words, StateWords state_words) const {
    const std::int64_t begin = range * rows.setting.grain;
    const std::int64_t end = rows.end_of(range);
    rows.ask_for_first(begin, end, words);
    state.ask_for_first(begin, end, state_words);
    for (std::int64_t i = begin; i < end; ++i) {
      rows.ask_ahead_of(i, end, words);
      state.ask_ahead_of(i, end, state_words);
      std::uint32_t* row = rows.row(i, words);
      for (std::int64_t w = 0; w < words; ++w) row[w] += add;
      std::uint32_t* beside = state.row(i, state_words);
      for (std::int64_t w = 0; w < state_words; ++w) beside[w] += add;
    }
  }
};

}  // namespace detail

/// Random row gather: the rows of `keys`, in their order, added up in one register; all that is written is the sum of
/// each `grain` rows, to sink [(keys / smallest_grain + 1) * sum_words].
template <class Exec>
requires on_host<Exec>
void gather_rows(const Exec& exec, const WordRows& rows, ConstArray<Exec, std::int64_t> keys, const RowSetting& setting,
                 Array<Exec, std::uint32_t> sink) {
  const detail::GatherRows<Exec> kernel{{rows, keys, setting}, sink};
  Kokkos::parallel_for("shardmark::gather_rows", dynamic_range(exec, kernel.rows.ranges()), kernel);
}

/// Random read-modify-write: `add`, which is to be 0, is added to every word of the rows of `keys` and of the state
/// beside them (row_words 0: none). `keys` must be distinct.
template <class Exec>
requires on_host<Exec>
void modify_rows(const Exec& exec, const WordRows& rows, const WordRows& state, ConstArray<Exec, std::int64_t> keys,
                 const RowSetting& setting, std::uint32_t add) {
  const detail::ModifyRows<Exec> kernel{{rows, keys, setting}, {state, keys, setting}, add};
  Kokkos::parallel_for("shardmark::modify_rows", dynamic_range(exec, kernel.rows.ranges()), kernel);
}

/// The setting for which run(setting) takes the shortest time, the best of `rounds` calls each.
template <class Exec, class Run>
RowSetting fastest_setting(const Exec& exec, int rounds, const Run& run) {
  std::array<double, row_settings.size()> best;
  best.fill(std::numeric_limits<double>::infinity());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t s = 0; s < row_settings.size(); ++s)
      best[s] = std::min(best[s], seconds(exec, [&] { run(row_settings[s]); }));
  return row_settings[std::min_element(best.begin(), best.end()) - best.begin()];
}

/// Streaming copy: whole cache lines past the caches where the output is large.
template <class Exec>
void stream_copy(const Exec& exec, ConstArray<Exec, float> from, const Array<Exec, float>& to) {
  constexpr std::int64_t grain = on_device<Exec> ? lane_count : 4096;
  const auto size = static_cast<std::int64_t>(to.extent(0));
  Kokkos::parallel_for(
      "shardmark::stream_copy", static_range(exec, (size + grain - 1) / grain),
      KOKKOS_LAMBDA(const std::int64_t range) {
        const bool past_caches = streams_output(to, lane_count, lane_count, to.data());
        const std::int64_t begin = range * grain;
        copy_vector(from.data() + begin, to.data() + begin, Kokkos::min(size - begin, grain), past_caches);
        finish_stores_past_caches();
      });
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

#include "kernels/device/ceilings.hpp"  // the same for devices
