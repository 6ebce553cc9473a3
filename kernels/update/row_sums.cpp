// SPDX-License-Identifier: Apache-2.0
#include "kernels/update/row_sums.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/update/device_row_update.hpp"
#include "kernels/update/for_each_row_gradient.hpp"

namespace shardmark::kernels {

template <class Exec>
struct StoreRowSums {
  UpdateStep now;
  Array<Exec, double> sums;
  std::int64_t per_row;

  /// Sums on the host over a run of rows.
  template <class Run>
  KOKKOS_FUNCTION void operator()(const UpdateShard& shard, const Run& run) const {
    if (shard.dim == shard.full_dim) return;
    with_step(shard.optimizer, now.number, [&](const auto& step) {
      using Step = std::decay_t<decltype(step)>;
      if constexpr (row_sum_count(Step::kind) > 0)
        with_value_and_dim(shard, [&](auto value, auto dim) { rows<decltype(value)>(shard, run, step, dim); });
    });
  }

  /// Sums on a device over the columns of one row.
  template <class Columns>
  KOKKOS_FUNCTION void operator()(const UpdateShard& shard, std::int64_t u, std::int64_t row,
                                  const Columns& columns) const {
    if (shard.dim == shard.full_dim) return;
    device::with_step_and_value(shard, now, [&](const auto& step, auto value) {
      using Step = std::decay_t<decltype(step)>;
      if constexpr (row_sum_count(Step::kind) > 0)
        for (int k = 0; k < row_sum_count(Step::kind); ++k)
          sums(u * per_row + k) = device::RowInShard<Step, decltype(value)>(shard, row).sum(step, columns, k);
    });
  }

 private:
  template <class Value, class Run, class Step, class Dim>
  KOKKOS_FORCEINLINE_FUNCTION void rows(const UpdateShard& shard, const Run& run, const Step& step, Dim dim) const {
    const std::int64_t state_size = state_per_row(Step::kind, dim);
    const auto values = static_cast<Value*>(shard.rows);
    const DecayFactors decay(shard.optimizer);
    const auto store = [&](const auto& prefetch_row, auto of_gradient) {
      run.for_each(dim, prefetch_row, [&](std::int64_t u, std::int64_t row, const auto& tile) {
        const RowUpdate<Step, Value, Dim> update{decay, values + row * dim, shard.state + row * state_size, dim};
        const SumsOfRow own = update.template sums<of_gradient>(step, tile);
        sums(u * per_row) = own.first;
        if (row_sum_count(Step::kind) > 1) sums(u * per_row + 1) = own.second;
      });
    };
    if constexpr (Step::kind != OptimizerKind::lamb)
      if (decay.l2 == 0.0F) return store(host::NoPrefetch{}, std::true_type{});
    store(PrefetchRow<Value, Dim>{values, shard.state, dim, state_size}, std::false_type{});
  }
};

template <class Exec>
void row_sums(const Exec& exec, const RowGradients<Exec>& gradients, const ShardList<Exec, UpdateShard>& shards,
              const UpdateStep& step, RowGradientsWorkspace<Exec>& workspace, Array<Exec, double> sums,
              std::int64_t per_row) {
  for_each_row_gradient("shardmark::row_sums", exec, gradients, shards, workspace,
                        StoreRowSums<Exec>{step, sums, per_row});
}

template <class Exec>
void add_row_sums(const Exec& exec, ConstArray<Exec, RowSumTerms> holders, Array<Exec, double> total) {
  Kokkos::parallel_for(
      "shardmark::add_row_sums", static_range(exec, static_cast<std::int64_t>(total.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        double sum = 0;
        for (std::size_t k = 0; k < holders.extent(0); ++k) sum += holders(k).terms[i];
        total(i) = sum;
      });
}

#define ROW_SUMS_ON(Exec) SHARDMARK_INSTANCE(row_sums<Exec>) SHARDMARK_INSTANCE(add_row_sums<Exec>)
SHARDMARK_ON_EACH_SPACE(ROW_SUMS_ON)

}  // namespace shardmark::kernels
