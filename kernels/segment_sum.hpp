// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/pooled_lookup.hpp"
#include "reference/error.hpp"

namespace shardmark::kernels {

/// Where the segments of one level of nested offsets begin and end in the values, [segments of the level + 1]: segment
/// s of level k holds [levels[k](s), levels[k](s + 1)) of the segments of level k + 1 or, on the last level, of the
/// values. Level 0 gives one vector per sample, level 1 one per sequence slot (HybridBackend's emb_segment_rank).
/// Throws InputError when there is no such level.
template <class Exec>
ConstArray<Exec, std::int64_t> segment_offsets(const Exec& exec,
                                               const std::vector<ConstArray<Exec, std::int64_t>>& levels,
                                               std::int64_t level, Scratch<Exec, std::int64_t>& scratch) {
  if (level < 0 || level >= std::ssize(levels))
    throw InputError("segment level " + std::to_string(level) + " is not one of " + std::to_string(levels.size()) +
                     " levels of offsets");
  const auto outer = levels[level];
  if (level + 1 == std::ssize(levels)) return outer;
  const Array<Exec, std::int64_t> composed = scratch.first(static_cast<std::int64_t>(outer.extent(0)));
  Kokkos::deep_copy(exec, composed, outer);
  for (auto inner = levels.begin() + level + 1; inner != levels.end(); ++inner) {
    const ConstArray<Exec, std::int64_t> offsets = *inner;
    Kokkos::parallel_for(
        "shardmark::segment_offsets", static_range(exec, static_cast<std::int64_t>(composed.extent(0))),
        KOKKOS_LAMBDA(const std::int64_t s) { composed(s) = offsets(composed(s)); });
  }
  return composed;
}

template <class Exec>
struct SegmentSum {
  ConstArray<Exec, std::int64_t> offsets;
  ConstArray<Exec, float> values;
  Array<Exec, float> output;
  std::int64_t dim;
  BalancedRanges ranges;

  KOKKOS_FUNCTION void operator()(std::int64_t range) const {
    with_width(dim, [&](auto width) { sum(width, ranges.begin(range, offsets), ranges.begin(range + 1, offsets)); });
    finish_stores_past_caches();
  }

 private:
  template <class Dim>
  KOKKOS_INLINE_FUNCTION void sum(Dim width, std::int64_t first, std::int64_t stop) const {
    if (first == stop) return;
    using Rows = BagRows<StoredRow<float>, EveryRow, Dim>;
    const Rows rows{reinterpret_cast<const char*>(values.data()), width, EveryRow{}, offsets(stop) - 1};
    const BagRun<Rows, SumRows, false> run{rows, Pooling::sum, nullptr,
                                           streams_output(output, dim, dim, output.data())};
    for (std::int64_t s = first; s < stop; ++s) run.pool(offsets(s), offsets(s + 1), output.data() + s * dim);
  }
};

/// output[s] = sum of the values of segment s, in order, in fp32; 0 where it is empty. One thread per segment.
///   offsets: [segments + 1] from 0 (segment_offsets);  values: [offsets(segments), dim];  output: [segments, dim]
template <class Exec>
void segment_sum(const Exec& exec, ConstArray<Exec, std::int64_t> offsets, ConstArray<Exec, float> values,
                 std::int64_t dim, const Array<Exec, float>& output) {
  const std::int64_t segments = static_cast<std::int64_t>(offsets.extent(0)) - 1;
  if (segments <= 0 || dim == 0) return;
  const BalancedRanges ranges = lookup_ranges(exec, segments, static_cast<std::int64_t>(values.extent(0)) / dim);
  Kokkos::parallel_for("shardmark::segment_sum", dynamic_range(exec, ranges.count()),
                       SegmentSum<Exec>{offsets, values, output, dim, ranges});
}

template <class Exec>
struct SegmentSumBackward {
  ConstArray<Exec, std::int64_t> offsets;
  ConstArray<Exec, float> gradients;
  Array<Exec, float> value_gradients;
  std::int64_t dim;
  BalancedRanges ranges;

  KOKKOS_FUNCTION void operator()(std::int64_t range) const {
    const bool past_caches = streams_output(value_gradients, dim, dim, value_gradients.data());
    const std::int64_t stop = ranges.begin(range + 1, offsets);
    for (std::int64_t s = ranges.begin(range, offsets); s < stop; ++s)
      for (std::int64_t i = offsets(s); i < offsets(s + 1); ++i)
        copy_vector(gradients.data() + s * dim, value_gradients.data() + i * dim, dim, past_caches);
    finish_stores_past_caches();
  }
};

/// Every value gets the gradient of its segment.
///   offsets: as segment_sum had them;  gradients: [segments, dim];  value_gradients: [offsets(segments), dim]
template <class Exec>
void segment_sum_backward(const Exec& exec, ConstArray<Exec, std::int64_t> offsets, ConstArray<Exec, float> gradients,
                          std::int64_t dim, const Array<Exec, float>& value_gradients) {
  const std::int64_t segments = static_cast<std::int64_t>(offsets.extent(0)) - 1;
  if (segments <= 0 || dim == 0) return;
  const BalancedRanges ranges =
      lookup_ranges(exec, segments, static_cast<std::int64_t>(value_gradients.extent(0)) / dim);
  Kokkos::parallel_for("shardmark::segment_sum_backward", dynamic_range(exec, ranges.count()),
                       SegmentSumBackward<Exec>{offsets, gradients, value_gradients, dim, ranges});
}

constexpr Work segment_sum_work(std::int64_t segments, std::int64_t values, std::int64_t dim) {
  return {
      .bytes_read = values * dim * 4 + (segments + 1) * 8, .bytes_written = segments * dim * 4, .flops = values * dim};
}
constexpr Work segment_sum_backward_work(std::int64_t segments, std::int64_t values, std::int64_t dim) {
  return {.bytes_read = segments * dim * 4 + (segments + 1) * 8, .bytes_written = values * dim * 4, .flops = 0};
}

}  // namespace shardmark::kernels
