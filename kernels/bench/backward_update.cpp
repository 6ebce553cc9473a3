// SPDX-License-Identifier: Apache-2.0
// Gradients of the pooled outputs in, updated rows out: what a training step does after its gradients came home.
#include "kernels/bench/gradients.hpp"
#include "kernels/sort/unique_rows.hpp"
#include "kernels/update/scatter_sgd.hpp"

namespace shardmark::kernels::bench {
namespace {

struct Update {
  const Case& shape;
  ValueType type;
  OptimizerKind optimizer;
  bool stochastic_rounding;
  bool unordered;  ///< by scatter_sgd
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

/// All that one update needs beside its tables, and the update itself.
struct Backward {
  const Suite& suite;
  const Update& of;
  ShardList<Exec, UpdateShard> shards;
  Gradients gradients;
  Scratch<Exec, std::int64_t> key_scratch{"shardmark::bench_keys"}, place_scratch{"shardmark::bench_places"};
  UniqueRowsWorkspace<Exec> unique_workspace{};
  RowGradientsWorkspace<Exec> workspace{};
  ScatterWorkspace<Exec> scatter_workspace{};

  void run(std::size_t batch, bool unordered) {
    const Problem& problem = suite.problem();
    const Exec& exec = suite.exec();
    const auto keys = key_scratch.first(problem.ids()), places = place_scratch.first(problem.ids());
    expand_positions<Exec>(exec, gradients.blocks, problem.offsets, problem.batches[batch].ids, keys, places);
    if (unordered) {
      scatter_sgd<Exec>(exec, keys, places, {}, gradients.values, shards, scatter_workspace);
      return;
    }
    fused_update(exec,
                 sorted_row_gradients<Exec>(exec, keys, problem.rows(), places, {}, gradients.values, unique_workspace),
                 shards, UpdateStep{}, workspace);
  }
};

/// The rows `keys` of `rows`, one after the other; or these put back.
struct SavedRows {
  WordRows rows;
  Array<Exec, std::int64_t> keys;
  Array<Exec, std::uint32_t> saved;

  SavedRows(const Exec& exec, const WordRows& of, const Array<Exec, std::int64_t>& of_keys)
      : rows(of),
        keys(of_keys),
        saved(Kokkos::view_alloc("shardmark::bench_saved", Kokkos::WithoutInitializing),
              keys.extent(0) * static_cast<std::size_t>(of.row_words)) {
    copy(exec, true);
  }
  void put_back(const Exec& exec) { copy(exec, false); }

  void copy(const Exec& exec, bool save) {
    Kokkos::parallel_for(
        "shardmark::bench_saved", static_range(exec, static_cast<std::int64_t>(keys.extent(0))),
        KOKKOS_CLASS_LAMBDA(const std::int64_t i) {
          for (std::int64_t w = 0; w < rows.row_words; ++w) {
            std::uint32_t& word = rows.words[keys(i) * rows.row_words + w];
            std::uint32_t& other = saved(i * rows.row_words + w);
            (save ? other : word) = save ? word : other;
          }
        });
  }
};

/// Largest difference of a value between an unordered and an ordered update of the same rows and state by batch 0, in
/// units of the largest change that the ordered one makes. fp32 rows.
double difference_of_orders(Backward& backward, const WordRows& rows, const WordRows& state) {
  const Exec& exec = backward.suite.exec();
  const auto keys = backward.suite.problem().batches[0].sorted;
  SavedRows before(exec, rows, keys), state_before(exec, state, keys);
  backward.run(0, false);
  const SavedRows ordered(exec, rows, keys);
  before.put_back(exec);
  state_before.put_back(exec);
  backward.run(0, true);
  const SavedRows unordered(exec, rows, keys);
  float largest_change = 0, largest_difference = 0;
  Kokkos::parallel_reduce(
      "shardmark::bench_difference", static_range(exec, static_cast<std::int64_t>(ordered.saved.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i, float& change, float& difference) {
        const auto value = [&](const SavedRows& from) { return Kokkos::bit_cast<float>(from.saved(i)); };
        change = Kokkos::max(change, Kokkos::abs(value(ordered) - value(before)));
        difference = Kokkos::max(difference, Kokkos::abs(value(ordered) - value(unordered)));
      },
      Kokkos::Max<float>(largest_change), Kokkos::Max<float>(largest_difference));
  return largest_change > 0 ? static_cast<double>(largest_difference / largest_change) : 0;
}

void backward_update_of(benchmark::State& state, Suite& suite, const Update& of) {
  const Problem& problem = suite.start(of.shape);
  const WordRows rows = suite.rows(of.type);
  const auto row_state = suite.state(of.optimizer);
  const UpdateShard shard{.dim = of.shape.dim,
                          .full_dim = of.shape.dim,
                          .optimizer = {.kind = of.optimizer, .learning_rate = 0x1p-10F},
                          .value_type = of.type,
                          .stochastic_rounding = of.stochastic_rounding};
  Backward backward{suite, of, shards_of(suite, shard, rows, row_state.data()), gradients_of(suite)};
  const WordRows state_words{reinterpret_cast<std::uint32_t*>(row_state.data()),
                             state_per_row(of.optimizer, of.shape.dim)};
  measure(state, suite, [&](std::size_t batch) { backward.run(batch, of.unordered); }, work_of(problem, of),
          {modify_ceiling(suite, rows, state_words, false), modify_ceiling(suite, rows, state_words, true),
           backward_ceiling(suite, rows, state_words, backward.gradients.values)});
  if (of.unordered) state.counters["difference"] = difference_of_orders(backward, rows, state_words);
}

}  // namespace

/// Every optimizer on fp32, sgd also unordered; row-wise Adagrad, rounding either way, on the narrower types.
void add_backward_update(Suite& suite, const Case& shape, ValueType type) {
  const std::string name = "backward_update/" + Problem::name(shape, type, suite.options()) + "/ids:int64/optimizer:";
  const auto add_update = [&](OptimizerKind optimizer, bool stochastic_rounding, bool unordered = false) {
    add(name + std::string(name_of(optimizer)) + (stochastic_rounding ? "/rounding:stochastic" : "") +
            (unordered ? "/order:unordered" : ""),
        [&suite, of = Update{shape, type, optimizer, stochastic_rounding, unordered}](auto& state) {
          backward_update_of(state, suite, of);
        });
  };
  if (type == ValueType::fp32) {
    for (const auto& optimizer : optimizers)
      if (optimizer.value != OptimizerKind::none) add_update(optimizer.value, false);
    add_update(OptimizerKind::sgd, false, true);
  } else if (type != ValueType::int8) {
    for (const bool stochastic_rounding : {false, true})
      add_update(OptimizerKind::rowwise_adagrad, stochastic_rounding);
  }
}

}  // namespace shardmark::kernels::bench
