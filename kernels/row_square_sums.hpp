// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/row_gradients.hpp"
#include "kernels/work.hpp"

namespace shardmark::kernels {

template <class SquareSums>
struct StoreSquareSum {
  SquareSums sums;

  template <class Shard>
  KOKKOS_INLINE_FUNCTION bool wants_square_sum(const Shard&) const {
    return true;
  }
  template <class Shard, class Dim>
  KOKKOS_INLINE_FUNCTION void prefetch_row(const Shard&, Dim, std::int64_t) const {}
  template <class Shard>
  KOKKOS_INLINE_FUNCTION double begin_row(std::int64_t u, const Shard&, std::int64_t, double squares) const {
    sums(u) = static_cast<typename SquareSums::non_const_value_type>(squares);
    return 0;
  }
  template <class Shard, class Width>
  KOKKOS_INLINE_FUNCTION void operator()(const Shard&, std::int64_t, std::int64_t, Width, const float*, double) const {}
};

/// sums[u] = sum over the columns held here of g(u)^2, in double; for tables split by columns, whose holders add their
/// sums before rowwise_adagrad. sums: float or double, [unique]. shards: any list with first_key and dim.
template <class Exec, class Unique, class GradientOffset, class Shard, class SquareSums>
void row_square_sums(const Exec& exec, const RowGradients<Exec, Unique, GradientOffset>& gradients,
                     const ShardList<Exec, Shard>& shards, RowGradientsWorkspace<Exec>& workspace,
                     const SquareSums& sums) {
  for_each_row_gradient("shardmark::row_square_sums", exec, gradients, shards, workspace,
                        StoreSquareSum<SquareSums>{sums});
}

constexpr Work row_square_sums_work(std::int64_t positions, std::int64_t position_elements, std::int64_t unique,
                                    std::int64_t unique_elements, std::int64_t gradient_elements, bool weighted) {
  return {.bytes_read = gradient_elements * 4 + positions * (16 + (weighted ? 4 : 0)) + (2 * unique + 1) * 8,
          .bytes_written = unique * 8,
          .flops = position_elements * (weighted ? 2 : 1) + unique_elements * 2};
}

}  // namespace shardmark::kernels
