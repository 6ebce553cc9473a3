// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/max_pooling.hpp"

namespace shardmark::kernels {

template <class Exec, class Index>
struct WeightGradients {
  ConstArray<Exec, PooledGradient> blocks;
  ConstArray<Exec, std::int64_t> offsets;
  ConstArray<Exec, Index> indices;
  ConstArray<Exec, float> weights;
  ConstArray<Exec, float> gradients;
  Array<Exec, float> output;
  BalancedRanges ranges;

  KOKKOS_FUNCTION void operator()(std::int64_t range) const {
    for_each_bag_run(
        ranges, range, blocks, offsets, [&](const PooledGradient& block, std::int64_t first, std::int64_t stop) {
          with_row_type(block.value_type, [&](auto row) { run<typename decltype(row)::type>(block, first, stop); });
        });
  }

 private:
  template <class Row>
  KOKKOS_INLINE_FUNCTION void run(const PooledGradient& block, std::int64_t first, std::int64_t stop) const {
    const std::int64_t begin = offsets(first);
    const BagRows<Row, const Index*, AnyWidth> rows{static_cast<const char*>(block.rows), AnyWidth{block.dim},
                                                    indices.data(), offsets(stop) - 1};
    rows.ask_for_first(begin);
    const float* gradient =
        gradients.data() + block.gradient + vectors_before(block, first, begin, offsets) * block.gradient_stride;
    const std::int64_t id_stride = block.pooling == Pooling::none ? block.gradient_stride : 0;
    for (std::int64_t bag = first; bag < stop; ++bag) {
      double weighted = 0;
      for (std::int64_t i = offsets(bag); i < offsets(bag + 1); ++i, gradient += id_stride) {
        rows.ask_far_ahead_of(i);
        output(i) = dot(rows, i, gradient);
        weighted += weight(i) * static_cast<double>(output(i));
      }
      if (divides(block.pooling)) divide_bag(block.pooling, offsets(bag), offsets(bag + 1), weighted);
      if (block.pooling != Pooling::none) gradient += block.gradient_stride;
    }
  }

  /// sum_c gradient[c] x_i[c], over 16 interleaved sums that are added pairwise.
  template <class Rows>
  KOKKOS_FORCEINLINE_FUNCTION static float dot(const Rows& rows, std::int64_t i, const float* gradient) {
    Lanes sum = 0.0F;
    for (std::int64_t column = 0; column < rows.dim; column += lane_count)
      sum = sum + load_lanes(gradient + column, rows.lanes_at(column)) * rows.lanes(i, column);
    return sum_of(sum);
  }

  /// From g x_i to the gradients of w_i in a mean or sqrtn; `weighted`: sum_i w_i g x_i.
  KOKKOS_INLINE_FUNCTION void divide_bag(Pooling pooling, std::int64_t begin, std::int64_t end, double weighted) const {
    const double divisor = bag_divisor(pooling, weights.extent(0) == 0 ? nullptr : weights.data(), begin, end);
    for (std::int64_t i = begin; i < end; ++i) {
      const double direct = static_cast<double>(output(i));
      const double share = pooling == Pooling::mean ? 1.0 : weight(i) / divisor;
      output(i) = divisor == 0 ? 0.0F : static_cast<float>((direct - weighted / divisor * share) / divisor);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION double weight(std::int64_t i) const { return weights.extent(0) == 0 ? 1.0 : weights(i); }
};

/// Gradient of every weight w_i, given the gradient g of the vectors y that pooled_lookup wrote:
///   none, sum  g x_i        mean  g (x_i - y) / sum_j w_j
///   sqrtn      g (x_i - y w_i / q) / q,  q = sqrt(sum_j w_j^2)
/// a dot product over the columns; 0 where the divisor is 0. For max: a block of Pooling::none whose gradients are
/// those of max_gradients. Deterministic: fp32 products summed in one order. Before the rows are updated.
///   blocks: as pooled_lookup had them, and where the gradients lie; offsets, indices, weights: as there; output: [nnz]
template <class Exec, class Indices>
void weight_gradients(const Exec& exec, ConstArray<Exec, PooledGradient> blocks, ConstArray<Exec, std::int64_t> offsets,
                      const Indices& indices, ConstArray<Exec, float> weights, ConstArray<Exec, float> gradients,
                      const Array<Exec, float>& output) {
  using Index = typename Indices::non_const_value_type;
  const std::int64_t bags = static_cast<std::int64_t>(offsets.extent(0)) - 1;
  if (bags <= 0 || blocks.extent(0) == 0) return;
  const BalancedRanges ranges = lookup_ranges(exec, bags, static_cast<std::int64_t>(indices.extent(0)));
  Kokkos::parallel_for("shardmark::weight_gradients", dynamic_range(exec, ranges.count()),
                       WeightGradients<Exec, Index>{blocks, offsets, indices, weights, gradients, output, ranges});
}

constexpr Work weight_gradients_work(const LookupCounts& counts, bool weighted, std::int64_t index_bytes) {
  Work work = pooled_lookup_work(counts, weighted, index_bytes);
  work.bytes_read += work.bytes_written;
  work.bytes_written = counts.ids * std::int64_t{sizeof(float)};
  work.flops = 2 * counts.id_elements;
  return work;
}

}  // namespace shardmark::kernels
