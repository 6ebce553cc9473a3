// SPDX-License-Identifier: Apache-2.0
#include "kernels/lookup/pooled_gradients.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/lookup/bag_run.hpp"

namespace shardmark::kernels {

/// Holds what both kernels read: the blocks and bags of a pooled_lookup, and the gradients of its vectors.
template <class Exec, class Index>
struct PooledBags {
  ConstArray<Exec, PooledGradient> blocks;
  ConstArray<Exec, std::int64_t> offsets;
  ConstArray<Exec, Index> indices;
  ConstArray<Exec, float> weights;
  ConstArray<Exec, float> gradients;
  BalancedRanges ranges;

  PooledBags(const Exec& exec, ConstArray<Exec, PooledGradient> of_blocks, ConstArray<Exec, std::int64_t> of_offsets,
             ConstArray<Exec, Index> of_indices, ConstArray<Exec, float> of_weights,
             ConstArray<Exec, float> of_gradients)
      : blocks(of_blocks),
        offsets(of_offsets),
        indices(of_indices),
        weights(of_weights),
        gradients(of_gradients),
        ranges(lookup_ranges(exec, static_cast<std::int64_t>(offsets.extent(0)) - 1,
                             static_cast<std::int64_t>(indices.extent(0)))) {}

  /// Calls body(block, first bag, end of the bags, their rows) for the runs of bags of one
  /// block that make up a range.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_run(std::int64_t range, const Body& body) const {
    for_each_bag_run(ranges, range, blocks, offsets,
                     [&](const PooledGradient& block, std::int64_t first, std::int64_t stop) {
                       with_row_type(block.value_type, [&](auto row) {
                         using Rows = BagRows<typename decltype(row)::type, const Index*, AnyWidth>;
                         const Rows rows{static_cast<const char*>(block.rows), AnyWidth{block.dim}, indices.data(),
                                         offsets(stop) - 1};
                         body(block, first, stop, rows);
                       });
                     });
  }

  KOKKOS_FORCEINLINE_FUNCTION float weight(std::int64_t i) const { return weights.extent(0) == 0 ? 1.0F : weights(i); }
};

/// Runs `kernel` on every range of `bags`, if there are any.
template <class Exec, class Index, class Kernel>
void for_each_range(const std::string& label, const Exec& exec, const PooledBags<Exec, Index>& bags,
                    const Kernel& kernel) {
  if (bags.offsets.extent(0) < 2 || bags.blocks.extent(0) == 0) return;
  Kokkos::parallel_for(label, dynamic_range(exec, bags.ranges.count()), kernel);
}

template <class Exec, class Index>
struct MaxGradients {
  PooledBags<Exec, Index> bags;
  ConstArray<Exec, float> pooled;
  Array<Exec, float> id_gradients;

  KOKKOS_FUNCTION void operator()(std::int64_t range) const {
    bags.for_each_run(range, [&](const PooledGradient& block, std::int64_t first, std::int64_t stop, const auto& rows) {
      if (block.pooling != Pooling::max) return;
      rows.ask_for_first(bags.offsets(first));
      for (std::int64_t bag = first; bag < stop; ++bag)
        for (std::int64_t column = 0; column < block.dim; column += simd_width) share(rows, block, bag, column);
    });
  }

 private:
  template <class Rows>
  KOKKOS_FORCEINLINE_FUNCTION void share(const Rows& rows, const PooledGradient& block, std::int64_t bag,
                                         std::int64_t column) const {
    const std::int64_t lanes = rows.lanes_at(column);
    const std::int64_t vector = bag - block.first_bag;
    const auto value = [&](std::int64_t i) { return bags.weight(i) * rows.lanes(i, column); };
    const Simd maximum = load_simd(&pooled(block.output + vector * block.output_stride + column), lanes);
    Simd ties = 0.0F;
    for (std::int64_t i = bags.offsets(bag); i < bags.offsets(bag + 1); ++i) {
      if (column == 0) rows.ask_far_ahead_of(i);
      ties = ties + where_equal(value(i), maximum, 1.0F);
    }
    const Simd part =
        load_simd(&bags.gradients(block.gradient + vector * block.gradient_stride + column), lanes) / ties;
    for (std::int64_t i = bags.offsets(bag); i < bags.offsets(bag + 1); ++i)
      store_simd(&id_gradients(block.id_gradient + i * block.id_gradient_stride + column),
                 where_equal(value(i), maximum, part), lanes);
  }
};

template <class Exec, class Index>
struct WeightGradients {
  PooledBags<Exec, Index> bags;
  Array<Exec, float> output;

  KOKKOS_FUNCTION void operator()(std::int64_t range) const {
    bags.for_each_run(range, [&](const PooledGradient& block, std::int64_t first, std::int64_t stop, const auto& rows) {
      run(block, first, stop, rows);
    });
  }

 private:
  template <class Rows>
  KOKKOS_INLINE_FUNCTION void run(const PooledGradient& block, std::int64_t first, std::int64_t stop,
                                  const Rows& rows) const {
    const auto& offsets = bags.offsets;
    rows.ask_for_first(offsets(first));
    const float* gradient = bags.gradients.data() + block.gradient +
                            vectors_before(block, first, offsets(first), offsets) * block.gradient_stride;
    const std::int64_t id_stride = block.pooling == Pooling::none ? block.gradient_stride : 0;
    for (std::int64_t bag = first; bag < stop; ++bag) {
      double weighted = 0;
      for (std::int64_t i = offsets(bag); i < offsets(bag + 1); ++i, gradient += id_stride) {
        rows.ask_far_ahead_of(i);
        output(i) = dot(rows, i, gradient);
        weighted += bags.weight(i) * static_cast<double>(output(i));
      }
      if (divides(block.pooling)) divide_bag(block.pooling, offsets(bag), offsets(bag + 1), weighted);
      if (block.pooling != Pooling::none) gradient += block.gradient_stride;
    }
  }

  /// Returns sum_c gradient[c] x_i[c], over 16 interleaved sums that are added pairwise.
  template <class Rows>
  KOKKOS_FORCEINLINE_FUNCTION static float dot(const Rows& rows, std::int64_t i, const float* gradient) {
    Simd sum = 0.0F;
    for (std::int64_t column = 0; column < rows.dim; column += simd_width)
      sum = sum + load_simd(gradient + column, rows.lanes_at(column)) * rows.lanes(i, column);
    return sum_of(sum);
  }

  /// Turns g x_i into the gradients of w_i in a mean or sqrtn; `weighted`: sum_i w_i g x_i.
  KOKKOS_INLINE_FUNCTION void divide_bag(Pooling pooling, std::int64_t begin, std::int64_t end, double weighted) const {
    const double divisor =
        bag_divisor(pooling, bags.weights.extent(0) == 0 ? nullptr : bags.weights.data(), begin, end);
    for (std::int64_t i = begin; i < end; ++i) {
      const double direct = static_cast<double>(output(i));
      const double share = pooling == Pooling::mean ? 1.0 : bags.weight(i) / divisor;
      output(i) = divisor == 0 ? 0.0F : static_cast<float>((direct - weighted / divisor * share) / divisor);
    }
  }
};

template <class Exec, class Indices>
void max_gradients(const Exec& exec, ConstArray<Exec, PooledGradient> blocks, ConstArray<Exec, std::int64_t> offsets,
                   const Indices& indices, ConstArray<Exec, float> weights, ConstArray<Exec, float> pooled,
                   ConstArray<Exec, float> gradients, const Array<Exec, float>& id_gradients) {
  const PooledBags<Exec, typename Indices::non_const_value_type> bags(exec, blocks, offsets, indices, weights,
                                                                      gradients);
  for_each_range("shardmark::max_gradients", exec, bags,
                 MaxGradients<Exec, typename Indices::non_const_value_type>{bags, pooled, id_gradients});
}

template <class Exec, class Indices>
void weight_gradients(const Exec& exec, ConstArray<Exec, PooledGradient> blocks, ConstArray<Exec, std::int64_t> offsets,
                      const Indices& indices, ConstArray<Exec, float> weights, ConstArray<Exec, float> gradients,
                      const Array<Exec, float>& output) {
  const PooledBags<Exec, typename Indices::non_const_value_type> bags(exec, blocks, offsets, indices, weights,
                                                                      gradients);
  for_each_range("shardmark::weight_gradients", exec, bags,
                 WeightGradients<Exec, typename Indices::non_const_value_type>{bags, output});
}

SHARDMARK_INSTANCE(max_gradients<DefaultSpace, Array<DefaultSpace, std::int32_t>>)
SHARDMARK_INSTANCE(max_gradients<DefaultSpace, Array<DefaultSpace, std::int64_t>>)
SHARDMARK_INSTANCE(max_gradients<DefaultSpace, ConstArray<DefaultSpace, std::int32_t>>)
SHARDMARK_INSTANCE(max_gradients<DefaultSpace, ConstArray<DefaultSpace, std::int64_t>>)
SHARDMARK_INSTANCE(weight_gradients<DefaultSpace, Array<DefaultSpace, std::int32_t>>)
SHARDMARK_INSTANCE(weight_gradients<DefaultSpace, Array<DefaultSpace, std::int64_t>>)
SHARDMARK_INSTANCE(weight_gradients<DefaultSpace, ConstArray<DefaultSpace, std::int32_t>>)
SHARDMARK_INSTANCE(weight_gradients<DefaultSpace, ConstArray<DefaultSpace, std::int64_t>>)

}  // namespace shardmark::kernels
