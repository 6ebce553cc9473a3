// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/row_gradients.hpp"
#include "kernels/work.hpp"
#include "reference/optimizer.hpp"

namespace shardmark::kernels {

/// A shard that is updated in place.
template <class Value>
struct UpdateShard {
  Value* rows = nullptr;       ///< [rows of the shard, dim]
  float* state = nullptr;      ///< [rows of the shard, state_per_row(optimizer, dim)]
  std::int64_t first_key = 0;  ///< key = first_key + local row
  std::int64_t dim = 0;        ///< columns held here
  std::int64_t full_dim = 0;   ///< columns of the whole table; read only where square sums are given
  Optimizer optimizer;
};

/// Where rowwise_adagrad takes its mean of g^2 from: the row here, or sums over all column shards of the table.
struct OwnSquareSums {
  static constexpr bool given = false;
  KOKKOS_INLINE_FUNCTION double operator()(std::int64_t) const { return 0; }
};
template <class SquareSums>
struct GivenSquareSums {
  static constexpr bool given = true;
  SquareSums sums;
  KOKKOS_INLINE_FUNCTION double operator()(std::int64_t u) const { return static_cast<double>(sums(u)); }
};

/// w - step * g, rounded once: a fused multiply-add where the machine has one, else by way of double.
KOKKOS_FORCEINLINE_FUNCTION float minus_product(float w, float step, float g) {
#if defined(__FP_FAST_FMAF) || defined(__CUDA_ARCH__)
  return Kokkos::fma(-step, g, w);
#else
  return static_cast<float>(static_cast<double>(w) - static_cast<double>(step) * static_cast<double>(g));
#endif
}
KOKKOS_FORCEINLINE_FUNCTION double minus_product(double w, double step, float g) {
  return w - step * static_cast<double>(g);
}

/// The rules of reference/optimizer.hpp for one row, in the precision of Value; sgd and rowwise_adagrad round w - step
/// g once, as the reference does. (The step of rowwise_adagrad comes from double.)
template <class Value, class SquareSums>
struct OptimizerStep {
  using Shard = UpdateShard<Value>;
  SquareSums square_sums;

  KOKKOS_INLINE_FUNCTION bool wants_square_sum(const Shard& shard) const {
    return !SquareSums::given && shard.optimizer.kind == OptimizerKind::rowwise_adagrad;
  }

  template <class Dim>
  KOKKOS_FORCEINLINE_FUNCTION void prefetch_row(const Shard& shard, Dim dim, std::int64_t row) const {
    prefetch(shard.rows + row * dim, dim * std::int64_t{sizeof(Value)});
    if (shard.optimizer.kind == OptimizerKind::rowwise_adagrad) prefetch(shard.state + row, sizeof(float));
    if (shard.optimizer.kind == OptimizerKind::adagrad)
      prefetch(shard.state + row * dim, dim * std::int64_t{sizeof(float)});
  }

  /// The factor of g; updates the state of rowwise_adagrad.
  KOKKOS_INLINE_FUNCTION double begin_row(std::int64_t u, const Shard& shard, std::int64_t row, double squares) const {
    const Optimizer& optimizer = shard.optimizer;
    if (optimizer.kind != OptimizerKind::rowwise_adagrad) return optimizer.learning_rate;
    const double mean = SquareSums::given ? square_sums(u) / static_cast<double>(shard.full_dim)
                                          : squares / static_cast<double>(shard.dim);
    const double s = shard.state[row] + mean;
    shard.state[row] = static_cast<float>(s);
    return optimizer.learning_rate / (Kokkos::sqrt(s) + optimizer.epsilon);
  }

  template <class Width>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const Shard& shard, std::int64_t row, std::int64_t column, Width width,
                                              const float* g, double step) const {
    Value* w = shard.rows + row * shard.dim + column;
    if (shard.optimizer.kind == OptimizerKind::adagrad) {
      const float rate = shard.optimizer.learning_rate;
      const float epsilon = shard.optimizer.epsilon;
      float* s = shard.state + row * shard.dim + column;
      for (std::int64_t d = 0; d < width; ++d) {
        const float sum = s[d] + g[d] * g[d];
        s[d] = sum;
        w[d] -= rate * g[d] / (Kokkos::sqrt(sum) + epsilon);
      }
    } else {
      const auto factor = static_cast<Value>(step);
      for (std::int64_t d = 0; d < width; ++d) w[d] = minus_product(w[d], factor, g[d]);
    }
  }
};

/// Sums the gradient of every distinct row (see RowGradients: order, precision) and applies its shard's optimizer in
/// place, rows in parallel and each row by one thread: equal bits for any number of threads. Shards of different dims
/// and optimizers go in one call; each row must lie inside the shard its key falls into.
template <class Exec, class Unique, class GradientOffset, class Value>
void fused_update(const Exec& exec, const RowGradients<Exec, Unique, GradientOffset>& gradients,
                  const ShardList<Exec, UpdateShard<Value>>& shards, RowGradientsWorkspace<Exec>& workspace) {
  for_each_row_gradient("shardmark::fused_update", exec, gradients, shards, workspace,
                        OptimizerStep<Value, OwnSquareSums>{{}});
}

/// The same for tables split by columns: rowwise_adagrad takes square_sums[u] / full_dim (float or double, [unique])
/// for its mean of g^2, which the caller has summed over the ranks that hold the row's columns (see row_square_sums).
template <class Exec, class Unique, class GradientOffset, class Value, class SquareSums>
void fused_update(const Exec& exec, const RowGradients<Exec, Unique, GradientOffset>& gradients,
                  const ShardList<Exec, UpdateShard<Value>>& shards, RowGradientsWorkspace<Exec>& workspace,
                  const SquareSums& square_sums) {
  for_each_row_gradient("shardmark::fused_update", exec, gradients, shards, workspace,
                        OptimizerStep<Value, GivenSquareSums<SquareSums>>{{square_sums}});
}

/// What an update must touch, for its work: sums over the distinct rows and over the positions of a step.
struct UpdateCounts {
  std::int64_t positions = 0;
  std::int64_t position_elements = 0;  ///< sum over positions of the dim of their row
  std::int64_t unique = 0;
  std::int64_t unique_elements = 0;    ///< sum over distinct rows of their dim
  std::int64_t state_elements = 0;     ///< sum over distinct rows of state_per_row
  std::int64_t gradient_elements = 0;  ///< elements of the gradient vectors, each counted once
};

constexpr Work fused_update_work(const UpdateCounts& counts, bool weighted, std::int64_t value_bytes) {
  const std::int64_t row_bytes = counts.unique_elements * value_bytes + counts.state_elements * 4;
  return {
      .bytes_read = row_bytes + counts.gradient_elements * 4 + counts.positions * (16 + (weighted ? 4 : 0)) +
                    (2 * counts.unique + 1) * 8,
      .bytes_written = row_bytes,
      .flops = counts.position_elements * (weighted ? 2 : 1) + counts.unique_elements * 2 + counts.state_elements * 4};
}

/// Sums over the distinct rows: {sum of dim, sum of state_per_row}, for pooled_lookup_work and fused_update_work.
struct RowElements {
  std::int64_t values = 0;
  std::int64_t state = 0;
};
template <class Exec, class Unique, class Value>
RowElements row_elements(const Exec& exec, const Unique& unique, const ShardList<Exec, UpdateShard<Value>>& list) {
  RowElements total;
  Kokkos::parallel_reduce(
      "shardmark::row_elements", static_range(exec, unique.count),
      KOKKOS_LAMBDA(const std::int64_t u, std::int64_t& values, std::int64_t& state) {
        const auto& shard = list.shards(list.find(unique.key(u)));
        values += shard.dim;
        if (shard.optimizer.kind == OptimizerKind::adagrad) state += shard.dim;
        if (shard.optimizer.kind == OptimizerKind::rowwise_adagrad) ++state;
      },
      total.values, total.state);
  return total;
}

}  // namespace shardmark::kernels
