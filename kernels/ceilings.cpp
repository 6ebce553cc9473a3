// SPDX-License-Identifier: Apache-2.0
#include "kernels/ceilings.hpp"

#include "kernels/column_blocks.hpp"
#include "kernels/device/ceilings.hpp"
#include "kernels/instantiate.hpp"
#include "kernels/prefetch.hpp"
#include "kernels/streamed_output.hpp"

namespace shardmark::kernels {

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

template <class Exec>
void gather_rows(const Exec& exec, const WordRows& rows, ConstArray<Exec, std::int64_t> keys,
                 [[maybe_unused]] const RowSetting& setting, Array<Exec, std::uint32_t> sink) {
  if constexpr (on_device<Exec>) {
    const auto run = [&](const auto& kernel) {
      Kokkos::parallel_for("shardmark::gather_rows",
                           device::tiles(exec, static_cast<std::int64_t>(keys.extent(0)), kernel.width), kernel);
    };
    if (rows.row_words % 4 == 0)
      run(device::GatherRows<Exec, 4>{rows, keys, sink});
    else
      run(device::GatherRows<Exec, 1>{rows, keys, sink});
  } else {
    const GatherRows<Exec> kernel{{rows, keys, setting}, sink};
    Kokkos::parallel_for("shardmark::gather_rows", dynamic_range(exec, kernel.rows.ranges()), kernel);
  }
}

template <class Exec>
void modify_rows(const Exec& exec, const WordRows& rows, const WordRows& state, ConstArray<Exec, std::int64_t> keys,
                 [[maybe_unused]] const RowSetting& setting, std::uint32_t add) {
  if constexpr (on_device<Exec>) {
    const device::ModifyRows<Exec> kernel{rows, state, keys, add};
    Kokkos::parallel_for("shardmark::modify_rows",
                         device::tiles(exec, static_cast<std::int64_t>(keys.extent(0)), kernel.width), kernel);
  } else {
    const ModifyRows<Exec> kernel{{rows, keys, setting}, {state, keys, setting}, add};
    Kokkos::parallel_for("shardmark::modify_rows", dynamic_range(exec, kernel.rows.ranges()), kernel);
  }
}

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

template <class Exec>
void triad(const Exec& exec, Array<Exec, float> a, ConstArray<Exec, float> b, ConstArray<Exec, float> c, float factor) {
  Kokkos::parallel_for(
      "shardmark::triad", static_range(exec, static_cast<std::int64_t>(a.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { a(i) = b(i) + factor * c(i); });
}
#define CEILINGS_ON(Exec)               \
  SHARDMARK_INSTANCE(gather_rows<Exec>) \
  SHARDMARK_INSTANCE(modify_rows<Exec>) SHARDMARK_INSTANCE(stream_copy<Exec>) SHARDMARK_INSTANCE(triad<Exec>)
SHARDMARK_ON_EACH_SPACE(CEILINGS_ON)

}  // namespace shardmark::kernels
