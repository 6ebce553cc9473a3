// SPDX-License-Identifier: Apache-2.0
#include "kernels/ceilings.hpp"

#include "kernels/device_ceilings.hpp"
#include "kernels/instantiate.hpp"
#include "kernels/lookup/column_blocks.hpp"
#include "kernels/lookup/streamed_output.hpp"
#include "kernels/prefetch.hpp"
#include "kernels/tensor_train/small_gemm.hpp"

namespace shardmark::kernels {

/// Prefetches and reads the rows of `keys`; `words` is their row_words, constant for usual dims. (These are methods,
/// since GCC 12 takes a lambda that only prefetches for one without effect.)
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
    device::gather_rows(exec, rows, keys, sink);
  } else {
    const GatherRows<Exec> kernel{{rows, keys, setting}, sink};
    Kokkos::parallel_for("shardmark::gather_rows", dynamic_range(exec, kernel.rows.ranges()), kernel);
  }
}

template <class Exec>
void modify_rows(const Exec& exec, const WordRows& rows, const WordRows& state, ConstArray<Exec, std::int64_t> keys,
                 [[maybe_unused]] const RowSetting& setting, std::uint32_t add) {
  if constexpr (on_device<Exec>) {
    device::modify_rows(exec, rows, keys, add);
    device::modify_rows(exec, state, keys, add);
  } else {
    const ModifyRows<Exec> kernel{{rows, keys, setting}, {state, keys, setting}, add};
    Kokkos::parallel_for("shardmark::modify_rows", dynamic_range(exec, kernel.rows.ranges()), kernel);
  }
}

/// Copies on the host: a range by one thread.
template <class Exec>
void copy_ranges(const Exec& exec, const ConstArray<Exec, float>& from, const Array<Exec, float>& to, Readers readers) {
  constexpr std::int64_t grain = 4096;
  const auto size = static_cast<std::int64_t>(to.extent(0));
  const std::int64_t streamed = streamed_copy(readers);
  Kokkos::parallel_for(
      "shardmark::stream_copy", static_range(exec, (size + grain - 1) / grain),
      KOKKOS_LAMBDA(const std::int64_t range) {
        const bool past_caches = streams_output(to, simd_width, simd_width, to.data(), streamed);
        const std::int64_t begin = range * grain;
        copy_vector(from.data() + begin, to.data() + begin, Kokkos::min(size - begin, grain), past_caches);
        finish_stores_past_caches();
      });
}

template <class Exec>
void stream_copy(const Exec& exec, ConstArray<Exec, float> from, const Array<Exec, float>& to,
                 [[maybe_unused]] Readers readers) {
  if constexpr (on_device<Exec>)
    device::stream_copy(exec, from, to);
  else
    copy_ranges(exec, from, to, readers);
}

template <class Exec>
void triad(const Exec& exec, Array<Exec, float> a, ConstArray<Exec, float> b, ConstArray<Exec, float> c, float factor) {
  Kokkos::parallel_for(
      "shardmark::triad", static_range(exec, static_cast<std::int64_t>(a.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) { a(i) = b(i) + factor * c(i); });
}

/// The product is small enough for 48 KiB, and so large that a fused multiply-add waits for no other.
inline constexpr GemmSize cached_product{32, 128, 32};
inline constexpr std::int64_t cached_floats =
    cached_product.m * cached_product.k + cached_product.k * cached_product.n + cached_product.m * cached_product.n;
inline constexpr std::int64_t cached_flops = 2 * cached_product.m * cached_product.n * cached_product.k;
/// Returns the number of ranges of products, each with matrices of its own.
template <class Exec>
std::int64_t cached_ranges(const Exec& exec) {
  return std::int64_t{4} * exec.concurrency();
}

template <class Exec>
Array<Exec, float> cached_matrices(const Exec& exec) {
  const auto matrices =
      allocate<Exec, float>("shardmark::cached_matrices", cached_ranges(exec) * (on_device<Exec> ? 1 : cached_floats));
  Kokkos::deep_copy(exec, matrices, 0.5F);
  return matrices;
}

/// These are chains of multiply-adds in registers, each step of all of them `chained_flops`.
inline constexpr int chains = 16;
inline constexpr std::int64_t chained_flops = 2 * chains;

template <class Exec>
void multiply_in_registers(const Exec& exec, std::int64_t steps, const Array<Exec, float>& sink) {
  Kokkos::parallel_for(
      "shardmark::multiply_in_registers", static_range(exec, static_cast<std::int64_t>(sink.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t thread) {
        const float factor = sink(thread);
        float sum[chains];
        for (int c = 0; c < chains; ++c) sum[c] = static_cast<float>(c);
        for (std::int64_t step = 0; step < steps; ++step)
          for (int c = 0; c < chains; ++c) sum[c] = fused(sum[c], factor, factor);
        float total = 0.0F;
        for (int c = 0; c < chains; ++c) total += sum[c];
        if (total == 0.1F) sink(thread) = total;  // never, but the compiler cannot know
      });
}

template <class Exec>
void multiply_matrices(const Exec& exec, std::int64_t products, const Array<Exec, float>& matrices) {
  const GemmSize size = cached_product;
  Kokkos::parallel_for(
      "shardmark::multiply_matrices", dynamic_range(exec, cached_ranges(exec)),
      KOKKOS_LAMBDA(const std::int64_t range) {
        float* const a = matrices.data() + range * std::int64_t{cached_floats};
        float* const b = a + size.m * size.k;
        float* const c = b + size.k * size.n;
        for (std::int64_t product = 0; product < products; ++product)
          host::small_gemm(size, GemmLeft<float>{a, size.k, 1}, GemmRows<const float>{b, size.n},
                           GemmRows<float>{c, size.n}, GemmStart::zero);
      });
}

template <class Exec>
std::int64_t multiply_in_caches(const Exec& exec, std::int64_t flops, Array<Exec, float> matrices) {
  const std::int64_t each = on_device<Exec> ? chained_flops : cached_flops, ranges = cached_ranges(exec);
  const std::int64_t rounds = std::max<std::int64_t>(1, (flops + ranges * each / 2) / (ranges * each));
  if constexpr (on_device<Exec>)
    multiply_in_registers(exec, rounds, matrices);
  else
    multiply_matrices(exec, rounds, matrices);
  return rounds * ranges * each;
}

SHARDMARK_INSTANCE(gather_rows<DefaultSpace>)
SHARDMARK_INSTANCE(modify_rows<DefaultSpace>)
SHARDMARK_INSTANCE(stream_copy<DefaultSpace>)
SHARDMARK_INSTANCE(triad<DefaultSpace>)
SHARDMARK_INSTANCE(cached_matrices<DefaultSpace>)
SHARDMARK_INSTANCE(multiply_in_caches<DefaultSpace>)

}  // namespace shardmark::kernels
