// SPDX-License-Identifier: Apache-2.0
#include "kernels/update/row_sums.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/update/device_row_update.hpp"
#include "kernels/update/for_each_row_gradient.hpp"

namespace shardmark::kernels {

/// Sums on the host over a run of rows.
template <class Exec>
struct StoreRowSums {
  UpdateStep now;
  Array<Exec, double> sums;
  std::int64_t per_row;

  template <class Run>
  KOKKOS_FUNCTION void operator()(const UpdateShard& shard, const Run& run) const {
    if (shard.dim == shard.full_dim) return;
    with_step(shard.optimizer, now.number, [&](const auto& step) {
      using Step = std::decay_t<decltype(step)>;
      if constexpr (row_sum_count(Step::kind) > 0)
        with_value_and_dim(shard, [&](auto value, auto dim) { rows<decltype(value)>(shard, run, step, dim); });
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
  const std::string label = "shardmark::row_sums";
  if constexpr (on_device<Exec>) {
    if (gradients.unique.positions() == 0) return;
    const auto source = device::row_source(label, exec, gradients, shards, workspace);
    device::for_each_update(
        shards, step,
        [&](const auto& rule, auto value, const auto& decay, const auto& range, std::int64_t largest_dim) {
          using Step = std::decay_t<decltype(rule)>;
          if constexpr (row_sum_count(Step::kind) > 0)
            device::for_each_row(label, exec, source, range, largest_dim,
                                 device::StoreSumsOfRows<Step, decltype(value)>{rule, decay, sums.data(), per_row});
        });
  } else {
    for_each_row_gradient(label, exec, gradients, shards, workspace, StoreRowSums<Exec>{step, sums, per_row});
  }
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

SHARDMARK_INSTANCE(row_sums<DefaultSpace>)
SHARDMARK_INSTANCE(add_row_sums<DefaultSpace>)

}  // namespace shardmark::kernels
