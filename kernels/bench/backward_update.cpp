// SPDX-License-Identifier: Apache-2.0
// Gradients of the pooled outputs in, updated rows out: what a training step does after its gradients came home.
#include "kernels/bench/suite.hpp"
#include "kernels/expand_positions.hpp"
#include "kernels/fused_update.hpp"
#include "kernels/unique_rows.hpp"
#include "reference/row_values.hpp"

namespace shardmark::kernels::bench {
namespace {

/// Gradients [tables, batch, dim].
struct Gradients {
  Array<Exec, float> values;
  Array<Exec, GradientBlock> blocks;
};

Gradients gradients_of(const Suite& suite) {
  const Problem& problem = suite.problem();
  const std::int64_t dim = problem.shape.dim;
  std::vector<GradientBlock> blocks;
  for (std::int64_t t = 0; t < problem.tables(); ++t)
    blocks.push_back({.first_bag = t * problem.batch,
                      .bags = problem.batch,
                      .first_key = problem.first_key[static_cast<std::size_t>(t)],
                      .gradient = t * problem.batch * dim,
                      .gradient_stride = dim});
  const Array<Exec, float> values("shardmark::bench_gradients", static_cast<std::size_t>(problem.elements()));
  const GradientValues gradient{.seed = 3};
  Kokkos::parallel_for(
      "shardmark::bench_gradients", static_range(suite.exec(), problem.elements()),
      KOKKOS_LAMBDA(const std::int64_t i) { values(i) = gradient(0, 0, i / dim, 0, i % dim); });
  return {values, array_of(suite.exec(), blocks, "shardmark::bench_gradient_blocks")};
}

Work work_of(const Problem& problem, OptimizerKind kind) {
  const std::int64_t dim = problem.shape.dim;
  const UpdateCounts counts{.positions = problem.ids(),
                            .position_elements = problem.ids() * dim,
                            .unique = problem.distinct(),
                            .unique_elements = problem.distinct() * dim,
                            .row_bytes = problem.distinct() * row_bytes(ValueType::fp32, dim),
                            .state_elements = problem.distinct() * state_per_row(kind, dim),
                            .gradient_elements = problem.elements()};
  return expand_positions_work(problem.bags(), problem.ids(), sizeof(std::int64_t)) +
         unique_rows_work(problem.ids(), problem.rows(), problem.distinct()) + fused_update_work(counts, false);
}

void backward_update_of(benchmark::State& state, Suite& suite, const Case& shape, OptimizerKind kind) {
  const Problem& problem = suite.start(shape);
  const Exec& exec = suite.exec();
  const auto rows = suite.rows();
  const std::int64_t per_row = state_per_row(kind, shape.dim);
  const auto row_state = suite.state(kind);
  const Gradients gradients = gradients_of(suite);
  std::vector<UpdateShard> shards;
  for (std::size_t t = 0; t < problem.table_rows.size(); ++t)
    shards.push_back({.rows = rows.data() + problem.first_key[t] * shape.dim,
                      .state = row_state.data() + problem.first_key[t] * per_row,
                      .first_key = problem.first_key[t],
                      .dim = shape.dim,
                      .full_dim = shape.dim,
                      .optimizer = {.kind = kind, .learning_rate = 0x1p-10F}});
  const auto list = shard_list(exec, shards);
  const Array<Exec, std::int64_t> keys("shardmark::bench_keys", static_cast<std::size_t>(problem.ids())),
      gradient_offset("shardmark::bench_gradient_offset", static_cast<std::size_t>(problem.ids()));
  UniqueRowsWorkspace<Exec> unique_workspace;
  RowGradientsWorkspace<Exec> workspace;
  const auto run = [&](std::size_t batch) {
    expand_positions<Exec>(exec, gradients.blocks, problem.offsets, problem.batches[batch].ids, keys, gradient_offset);
    const auto unique = unique_rows<Exec>(exec, keys, problem.rows(), unique_workspace);
    fused_update(exec, row_gradients<Exec>(exec, unique, gradient_offset, {}, gradients.values), list, UpdateStep{},
                 workspace);
  };
  const WordRows words{reinterpret_cast<std::uint32_t*>(rows.data()), shape.dim};
  const WordRows state_words{reinterpret_cast<std::uint32_t*>(row_state.data()), per_row};
  measure(state, suite, run, work_of(problem, kind),
          {modify_ceiling(suite, words, state_words, false), modify_ceiling(suite, words, state_words, true)});
}

}  // namespace

void add_backward_update(Suite& suite, const Case& shape) {
  for (const auto& optimizer : optimizers)
    if (optimizer.value != OptimizerKind::none)
      add("backward_update/" + Problem::name(shape, suite.options()) +
              "/values:fp32/ids:int64/optimizer:" + std::string(optimizer.name),
          [&suite, &shape, kind = optimizer.value](auto& state) { backward_update_of(state, suite, shape, kind); });
}

}  // namespace shardmark::kernels::bench
