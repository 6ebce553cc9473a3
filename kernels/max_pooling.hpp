// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/pooled_lookup.hpp"

namespace shardmark::kernels {

/// What a block of pooled_lookup wrote (at `output`), and the gradients of those vectors.
struct PooledGradient : LookupBlock {
  std::int64_t gradient = 0;            ///< element of the gradient of the first bag's vector
  std::int64_t gradient_stride = 0;     ///< elements from one to the next
  std::int64_t id_gradient = 0;         ///< element of the vector of position 0, see max_gradients
  std::int64_t id_gradient_stride = 0;  ///< elements from one position's vector to the next, at least dim
};

template <class Exec, class Index>
struct MaxGradients {
  ConstArray<Exec, PooledGradient> blocks;
  ConstArray<Exec, std::int64_t> offsets;
  ConstArray<Exec, Index> indices;
  ConstArray<Exec, float> weights;
  ConstArray<Exec, float> pooled;
  ConstArray<Exec, float> gradients;
  Array<Exec, float> id_gradients;
  BalancedRanges ranges;

  KOKKOS_FUNCTION void operator()(std::int64_t range) const {
    for_each_bag_run(
        ranges, range, blocks, offsets, [&](const PooledGradient& block, std::int64_t first, std::int64_t stop) {
          if (block.pooling != Pooling::max) return;
          with_row_type(block.value_type, [&](auto row) { run<typename decltype(row)::type>(block, first, stop); });
        });
  }

 private:
  template <class Row>
  KOKKOS_INLINE_FUNCTION void run(const PooledGradient& block, std::int64_t first, std::int64_t stop) const {
    const BagRows<Row, const Index*, AnyWidth> rows{static_cast<const char*>(block.rows), AnyWidth{block.dim},
                                                    indices.data(), offsets(stop) - 1};
    rows.ask_for_first(offsets(first));
    for (std::int64_t bag = first; bag < stop; ++bag)
      for (std::int64_t column = 0; column < block.dim; column += lane_count) share(rows, block, bag, column);
  }

  template <class Rows>
  KOKKOS_FORCEINLINE_FUNCTION void share(const Rows& rows, const PooledGradient& block, std::int64_t bag,
                                         std::int64_t column) const {
    const std::int64_t lanes = rows.lanes_at(column);
    const std::int64_t vector = bag - block.first_bag;
    const auto value = [&](std::int64_t i) { return weight(i) * rows.lanes(i, column); };
    const Lanes maximum = load_lanes(&pooled(block.output + vector * block.output_stride + column), lanes);
    Lanes ties = 0.0F;
    for (std::int64_t i = offsets(bag); i < offsets(bag + 1); ++i) {
      if (column == 0) rows.ask_far_ahead_of(i);
      ties = ties + where_equal(value(i), maximum, 1.0F);
    }
    const Lanes part = load_lanes(&gradients(block.gradient + vector * block.gradient_stride + column), lanes) / ties;
    for (std::int64_t i = offsets(bag); i < offsets(bag + 1); ++i)
      store_lanes(&id_gradients(block.id_gradient + i * block.id_gradient_stride + column),
                  where_equal(value(i), maximum, part), lanes);
  }

  KOKKOS_FORCEINLINE_FUNCTION float weight(std::int64_t i) const { return weights.extent(0) == 0 ? 1.0F : weights(i); }
};

/// Backward of Pooling::max: one gradient vector per id of the blocks of that pooling, others are left alone.
///   id_gradients[i][c] = gradient[bag][c] / ties where w_i x_i[c] is the maximum that `ties` ids of the bag attain,
///   else 0
/// as the gradient of w_i x_i; the update then sees features without pooling. Before the rows are updated.
///   blocks: as pooled_lookup had them, `output` in `pooled`, and where the gradients lie
///   offsets, indices, weights: as there
///   id_gradients: that of position i at block.id_gradient + i block.id_gradient_stride (see expand_positions)
template <class Exec, class Indices>
void max_gradients(const Exec& exec, ConstArray<Exec, PooledGradient> blocks, ConstArray<Exec, std::int64_t> offsets,
                   const Indices& indices, ConstArray<Exec, float> weights, ConstArray<Exec, float> pooled,
                   ConstArray<Exec, float> gradients, const Array<Exec, float>& id_gradients) {
  using Index = typename Indices::non_const_value_type;
  const std::int64_t bags = static_cast<std::int64_t>(offsets.extent(0)) - 1;
  if (bags <= 0 || blocks.extent(0) == 0) return;
  const BalancedRanges ranges = lookup_ranges(exec, bags, static_cast<std::int64_t>(indices.extent(0)));
  Kokkos::parallel_for(
      "shardmark::max_gradients", dynamic_range(exec, ranges.count()),
      MaxGradients<Exec, Index>{blocks, offsets, indices, weights, pooled, gradients, id_gradients, ranges});
}

/// Work of max_gradients: the rows and pooled vectors again, the gradients, and a vector per id out.
constexpr Work max_gradients_work(const LookupCounts& counts, bool weighted, std::int64_t index_bytes) {
  Work work = pooled_lookup_work(counts, weighted, index_bytes);
  work.bytes_read += 2 * work.bytes_written;
  work.bytes_written = counts.id_elements * std::int64_t{sizeof(float)};
  work.flops = 2 * counts.id_elements + counts.output_elements;
  return work;
}

}  // namespace shardmark::kernels
