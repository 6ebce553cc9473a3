// SPDX-License-Identifier: Apache-2.0
#include "kernels/lookup/segment_sum.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/lookup/bag_run.hpp"
#include "reference/error.hpp"

namespace shardmark::kernels {

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

#define SEGMENT_SUM_ON(Exec)                \
  SHARDMARK_INSTANCE(segment_offsets<Exec>) \
  SHARDMARK_INSTANCE(segment_sum<Exec>) SHARDMARK_INSTANCE(segment_sum_backward<Exec>)
SHARDMARK_ON_EACH_SPACE(SEGMENT_SUM_ON)

}  // namespace shardmark::kernels
