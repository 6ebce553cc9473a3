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

struct Update {
  const Case& shape;
  ValueType type;
  OptimizerKind optimizer;
  bool stochastic_rounding;
};

Work work_of(const Problem& problem, const Update& of) {
  const std::int64_t dim = of.shape.dim;
  const UpdateCounts counts{.positions = problem.ids(),
                            .position_elements = problem.ids() * dim,
                            .unique = problem.distinct(),
                            .unique_elements = problem.distinct() * dim,
                            .row_bytes = problem.distinct() * row_bytes(of.type, dim),
                            .state_elements = problem.distinct() * state_per_row(of.optimizer, dim),
                            .gradient_elements = problem.elements()};
  return expand_positions_work(problem.bags(), problem.ids(), sizeof(std::int64_t)) +
         unique_rows_work(problem.ids(), problem.rows(), problem.distinct()) + fused_update_work(counts, false);
}

ShardList<Exec, UpdateShard> shards_of(const Suite& suite, const Update& of, const WordRows& rows, float* state) {
  const Problem& problem = suite.problem();
  const std::int64_t per_row = state_per_row(of.optimizer, of.shape.dim);
  std::vector<UpdateShard> shards;
  for (std::size_t t = 0; t < problem.table_rows.size(); ++t)
    shards.push_back({.rows = rows.words + problem.first_key[t] * rows.row_words,
                      .state = state + problem.first_key[t] * per_row,
                      .first_key = problem.first_key[t],
                      .dim = of.shape.dim,
                      .full_dim = of.shape.dim,
                      .optimizer = {.kind = of.optimizer, .learning_rate = 0x1p-10F},
                      .value_type = of.type,
                      .stochastic_rounding = of.stochastic_rounding,
                      .table = static_cast<std::int64_t>(t)});
  return shard_list(suite.exec(), shards);
}

void backward_update_of(benchmark::State& state, Suite& suite, const Update& of) {
  const Problem& problem = suite.start(of.shape);
  const Exec& exec = suite.exec();
  const WordRows rows = suite.rows(of.type);
  const auto row_state = suite.state(of.optimizer);
  const Gradients gradients = gradients_of(suite);
  const auto shards = shards_of(suite, of, rows, row_state.data());
  const Array<Exec, std::int64_t> keys("shardmark::bench_keys", static_cast<std::size_t>(problem.ids())),
      gradient_offset("shardmark::bench_gradient_offset", static_cast<std::size_t>(problem.ids()));
  UniqueRowsWorkspace<Exec> unique_workspace;
  RowGradientsWorkspace<Exec> workspace;
  const auto run = [&](std::size_t batch) {
    expand_positions<Exec>(exec, gradients.blocks, problem.offsets, problem.batches[batch].ids, keys, gradient_offset);
    const auto unique = unique_rows<Exec>(exec, keys, problem.rows(), unique_workspace);
    fused_update(exec, row_gradients<Exec>(exec, unique, gradient_offset, {}, gradients.values), shards, UpdateStep{},
                 workspace);
  };
  const WordRows state_words{reinterpret_cast<std::uint32_t*>(row_state.data()),
                             state_per_row(of.optimizer, of.shape.dim)};
  measure(state, suite, run, work_of(problem, of),
          {modify_ceiling(suite, rows, state_words, false), modify_ceiling(suite, rows, state_words, true)});
}

}  // namespace

/// Every optimizer on fp32; row-wise Adagrad, rounding either way, on the narrower types.
void add_backward_update(Suite& suite, const Case& shape, ValueType type) {
  const std::string name = "backward_update/" + Problem::name(shape, type, suite.options()) + "/ids:int64/optimizer:";
  const auto add_update = [&](OptimizerKind optimizer, bool stochastic_rounding) {
    add(name + std::string(name_of(optimizer)) + (stochastic_rounding ? "/rounding:stochastic" : ""),
        [&suite, of = Update{shape, type, optimizer, stochastic_rounding}](auto& state) {
          backward_update_of(state, suite, of);
        });
  };
  if (type == ValueType::fp32) {
    for (const auto& optimizer : optimizers)
      if (optimizer.value != OptimizerKind::none) add_update(optimizer.value, false);
  } else if (type != ValueType::int8) {
    for (const bool stochastic_rounding : {false, true})
      add_update(OptimizerKind::rowwise_adagrad, stochastic_rounding);
  }
}

}  // namespace shardmark::kernels::bench
