// SPDX-License-Identifier: Apache-2.0
// What else is done with gradients of rows, beside the update of whole rows: places of the ids, sums over the columns
// held here, gradients packed for the owners of their rows, dense ones of small tables. Without the sort.
#include "kernels/bench/gradients.hpp"
#include "kernels/update/row_sums.hpp"
#include "kernels/update/stored_gradients.hpp"

namespace shardmark::kernels::bench {
namespace {

/// The gradients of the distinct rows of every batch.
struct SortedBatches {
  Gradients gradients;
  std::array<UniqueRowsWorkspace<Exec>, Problem::batch_count> sort_workspaces;
  std::vector<RowGradients<Exec>> batches;
  RowGradientsWorkspace<Exec> workspace;

  explicit SortedBatches(const Suite& suite) : gradients(gradients_of(suite)) {
    const Problem& problem = suite.problem();
    const auto keys = allocate<Exec, std::int64_t>("shardmark::bench_keys", problem.ids());
    const auto places = allocate<Exec, std::int64_t>("shardmark::bench_places", problem.ids());
    for (std::size_t b = 0; b < Problem::batch_count; ++b) {
      expand_positions<Exec>(suite.exec(), gradients.blocks, problem.offsets, problem.batches[b].ids, keys, places);
      batches.push_back(sorted_row_gradients<Exec>(suite.exec(), keys, problem.rows(), places, {}, gradients.values,
                                                   sort_workspaces[b]));
    }
  }
};

UpdateCounts counts_of(const Problem& problem, OptimizerKind optimizer) {
  const std::int64_t dim = problem.shape.dim;
  return {.positions = problem.ids(),
          .position_elements = problem.ids() * dim,
          .unique = problem.distinct(),
          .unique_elements = problem.distinct() * dim,
          .row_bytes = problem.distinct() * dim * 4,
          .state_elements = problem.distinct() * state_per_row(optimizer, dim),
          .gradient_elements = problem.elements()};
}

void expand_positions_of(benchmark::State& state, Suite& suite, const Case& shape) {
  const Problem& problem = suite.start(shape);
  const Gradients gradients = gradients_of(suite);
  const auto keys = allocate<Exec, std::int64_t>("shardmark::bench_keys", problem.ids());
  const auto places = allocate<Exec, std::int64_t>("shardmark::bench_places", problem.ids());
  const auto run = [&](std::size_t batch) {
    expand_positions<Exec>(suite.exec(), gradients.blocks, problem.offsets, problem.batches[batch].ids, keys, places);
  };
  const Work work = expand_positions_work(problem.bags(), problem.ids(), sizeof(std::int64_t));
  measure(state, suite, run, work, {copy_ceiling(suite, work)});
}

/// Of tables whose other half of the columns is held elsewhere.
void row_sums_of(benchmark::State& state, Suite& suite, const Case& shape, OptimizerKind optimizer) {
  const Problem& problem = suite.start(shape);
  SortedBatches sorted(suite);
  const UpdateShard half{.dim = shape.dim, .full_dim = 2 * shape.dim, .optimizer = {.kind = optimizer}};
  const auto shards = shards_of(suite, half, suite.rows(ValueType::fp32), suite.state(optimizer).data());
  const std::int64_t per_row = row_sum_count(optimizer);
  const auto sums = allocate<Exec, double>("shardmark::bench_sums", problem.ids() * per_row);
  const auto run = [&](std::size_t batch) {
    row_sums(suite.exec(), sorted.batches[batch], shards, UpdateStep{}, sorted.workspace, sums, per_row);
  };
  const Work work = row_sums_work(counts_of(problem, optimizer), false, per_row);
  measure(state, suite, run, work, {copy_ceiling(suite, work)});
}

void pack_row_gradients_of(benchmark::State& state, Suite& suite, const Case& shape) {
  const Problem& problem = suite.start(shape);
  SortedBatches sorted(suite);
  const auto packed = allocate<Exec, float>("shardmark::bench_packed", problem.ids() * shape.dim);
  const auto all = shard_list(suite.exec(), std::vector<PackedRows>{{.first_key = 0, .dim = shape.dim}});
  const auto run = [&](std::size_t batch) {
    pack_row_gradients(suite.exec(), sorted.batches[batch], all, sorted.workspace, packed);
  };
  const UpdateCounts counts = counts_of(problem, OptimizerKind::sgd);
  const Work work =
      pack_row_gradients_work(counts.positions, counts.position_elements, counts.unique, counts.unique_elements, false);
  measure(state, suite, run, work, {copy_ceiling(suite, work)});
}

/// The tables of a case that a plan would replicate: few rows, of which many are touched in each step.
struct SmallTables {
  static constexpr std::int64_t most_rows = 16384;
  std::vector<TableShape> tables;
  Case shape;

  explicit SmallTables(const Case& of) : shape(of) {
    for (const auto& table : of.tables)
      if (table.rows <= most_rows) tables.push_back(table);
    shape.tables = tables;
  }
  SmallTables(const SmallTables&) = delete;
};

void reduce_to_dense_of(benchmark::State& state, Suite& suite, const Case& shape) {
  const Problem& problem = suite.start(shape);
  SortedBatches sorted(suite);
  std::vector<DenseShard> shards;
  for (std::int64_t t = 0; t < problem.tables(); ++t) {
    const std::int64_t key = problem.first_key[t];
    shards.push_back({.first_key = key, .dim = shape.dim, .output = key * shape.dim});
  }
  const auto list = shard_list(suite.exec(), shards);
  const std::int64_t elements = problem.rows() * shape.dim;
  const auto dense = allocate<Exec, float>("shardmark::bench_dense", elements);
  const auto touched = allocate<Exec, float>("shardmark::bench_touched", problem.rows());
  const auto run = [&](std::size_t batch) {
    Kokkos::deep_copy(suite.exec(), dense, 0.0F);
    Kokkos::deep_copy(suite.exec(), touched, 0.0F);
    reduce_to_dense(suite.exec(), sorted.batches[batch], list, sorted.workspace, dense, touched);
  };
  const Work work = reduce_to_dense_work(problem.ids(), problem.ids() * shape.dim, problem.distinct(),
                                         problem.elements(), elements, problem.rows(), false);
  measure(state, suite, run, work, {copy_ceiling(suite, work)});
}

}  // namespace

void add_gradient_kernels(Suite& suite, const Case& shape, ValueType type) {
  if (type != ValueType::fp32) return;
  const std::string name = "/" + Problem::name(shape, type, suite.options());
  add("expand_positions" + name, [&suite, &shape](auto& state) { expand_positions_of(state, suite, shape); });
  add("pack_row_gradients" + name, [&suite, &shape](auto& state) { pack_row_gradients_of(state, suite, shape); });
  for (const auto optimizer : {OptimizerKind::rowwise_adagrad, OptimizerKind::lamb})
    add("row_sums" + name + "/optimizer:" + std::string(name_of(optimizer)),
        [&suite, &shape, optimizer](auto& state) { row_sums_of(state, suite, shape, optimizer); });
  if (const auto small = std::make_shared<SmallTables>(shape); !small->tables.empty())
    add("reduce_to_dense/" + Problem::name(small->shape, type, suite.options()),
        [&suite, small](auto& state) { reduce_to_dense_of(state, suite, small->shape); });
}

}  // namespace shardmark::kernels::bench
