// SPDX-License-Identifier: Apache-2.0
// A table that is the product of cores: its lookup, its backward pass and update, and both, sorts included.
#include "kernels/bench/gradients.hpp"
#include "kernels/lookup/pooled_lookup.hpp"
#include "kernels/tensor_train/contract_rows.hpp"
#include "kernels/tensor_train/slice_gradients.hpp"
#include "kernels/tensor_train/tt_keys.hpp"
#include "kernels/update/stored_gradients.hpp"
#include "reference/row_values.hpp"

namespace shardmark::kernels::bench {
namespace {

enum class Part { forward, backward, step };

struct Training {
  const Case& shape;
  Part part = Part::step;
  ValueType type = ValueType::fp32;
  OptimizerKind optimizer = OptimizerKind::sgd;
  bool mirrored = false;  ///< contracted from the last core on
  SliceSums order = SliceSums::ordered;
};

/// What the distinct rows of a batch are made of, mean over the batches.
struct Contracted {
  PrefixCounts prefixes{};
  std::int64_t elements = 0;  ///< of the slices that are used
};

Contracted contracted(const Problem& problem, const Training& of) {
  const TensorTrainShape shape = of.mirrored ? mirrored(fbtt_shape) : fbtt_shape;
  Contracted sum;
  for (const IdBatch& batch : problem.batches) {
    const auto ids = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), batch.sorted);
    std::vector<std::int64_t> rows(ids.data(), ids.data() + ids.extent(0));
    if (of.mirrored)
      for (auto& row : rows) row = mirrored_row(fbtt_shape, row);
    std::ranges::sort(rows);
    const PrefixCounts prefixes = count_prefixes(shape, rows);
    for (int t = 0; t < shape.cores; ++t) {
      sum.prefixes[t] += prefixes[t];
      std::vector<bool> used(static_cast<std::size_t>(shape.p[t]));
      for (const std::int64_t row : rows) used[shape.digits(row)[t]] = true;
      sum.elements += std::ranges::count(used, true) * shape.slice_elements(t);
    }
  }
  for (auto& count : sum.prefixes) count /= Problem::batch_count;
  return {sum.prefixes, sum.elements / static_cast<std::int64_t>(Problem::batch_count)};
}

Work work_of(const Problem& problem, const Training& of, const Contracted& rows) {
  const TensorTrainShape shape = of.mirrored ? mirrored(fbtt_shape) : fbtt_shape;
  const std::int64_t cores = rows.elements * row_bytes(of.type, 2) / 2, ids = problem.ids() * 8;
  Work work;
  if (of.part != Part::backward)
    work = work + Work{cores + ids, problem.elements() * 4, forward_flops(shape, rows.prefixes)};
  if (of.part != Part::forward)
    work = work + Work{2 * cores + ids + problem.elements() * 4, cores, backward_flops(shape, rows.prefixes)};
  return work;
}

template <class Value>
void fill_core(const Exec& exec, void* core, std::int64_t count) {
  const RowValues value{.seed = 1, .scale = 0.25F};
  auto* const values = static_cast<Value*>(core);
  Kokkos::parallel_for(
      "shardmark::bench_fill_core", static_range(exec, count),
      KOKKOS_LAMBDA(const std::int64_t i) { values[i] = rounded_to<Value>(value(0, i, 0)); });
}

/// The cores and all that a step needs beside them.
class Tt {
 public:
  Tt(const Suite& suite, const Training& of)
      : exec_(suite.exec()), problem_(suite.problem()), order_(of.order), gradients_(gradients_of(suite)) {
    keys_of_ = {fbtt_shape, of.mirrored, 0};
    TensorTrainCores cores{.shape = of.mirrored ? shardmark::mirrored(fbtt_shape) : fbtt_shape,
                           .value_type = of.type,
                           .mirrored = of.mirrored,
                           .dim = fbtt_shape.dim()};
    std::vector<UpdateShard> shards;
    std::int64_t slices = 0;
    for (int t = 0; t < fbtt_shape.cores; slices += cores.shape.p[t++]) {
      UpdateShard& shard = shards.emplace_back(make_core(cores.shape, t, of));
      shard.first_key = cores.first_slice[t] = slices;
      cores.cores[t] = shard.rows;
    }
    tts_ = tensor_trains(exec_, std::vector{cores});
    shards_ = shard_list(exec_, shards);
    packed_ = shard_list(exec_, std::vector{PackedRows{.dim = dim_}});
    bags_ = array_of(exec_, std::vector{TtBags{0, problem_.bags(), keys_of_}}, "shardmark::bench_bags");
    before_ = array_of(exec_, std::vector<std::int64_t>{0, problem_.ids()}, "shardmark::bench_before");
    zero_ = array_of(exec_, std::vector<std::int64_t>{0}, "shardmark::bench_zero");
    inverse_ = allocate<Exec, std::int64_t>("shardmark::bench_inverse", problem_.ids());
    pooled_ = allocate<Exec, float>("shardmark::bench_pooled", problem_.elements());
  }

  void forward(std::size_t batch) {
    const std::int64_t ids = problem_.ids();
    const auto keys = keys_.first(ids), places = places_.first(ids);
    list_tt_ids<Exec>(exec_, bags_, problem_.offsets, before_, problem_.batches[batch].ids, keys, places);
    const auto unique = unique_rows<Exec>(exec_, keys, fbtt_shape.rows(), places, ids, unique_workspace_);
    const auto tree = prefix_tree(exec_, unique, tts_, tree_workspace_);
    const auto rows = rows_.first(tree.rows() * dim_);
    contract_rows(exec_, tree, tts_, workspace_, rows, dim_);
    invert_unique_rows<Exec>(exec_, unique, zero_, zero_, inverse_);
    const LookupBlock block{.bags = problem_.bags(), .rows = rows.data(), .dim = dim_, .output_stride = dim_};
    pooled_lookup<Exec>(exec_, blocks_.holding(exec_, {block}), problem_.offsets, inverse_, {}, pooled_);
  }

  void backward(std::size_t batch) {
    const auto keys = keys_.first(problem_.ids()), places = places_.first(problem_.ids());
    expand_positions<Exec>(exec_, gradients_.blocks, problem_.offsets, problem_.batches[batch].ids, keys, places);
    const auto of_rows =
        sorted_row_gradients<Exec>(exec_, keys, fbtt_shape.rows(), places, {}, gradients_.values, unique_workspace_);
    const std::int64_t count = host_count(exec_, of_rows.unique);
    const auto packed = rows_.first(count * dim_);
    pack_row_gradients(exec_, of_rows, packed_, row_workspace_, packed);
    const auto row_keys = row_keys_.first(count), vectors = vectors_.first(count);
    const TtRows all{.rows = count, .dim = dim_, .keys = keys_of_};
    list_tt_rows<Exec>(exec_, of_rows.unique, tt_rows_.holding(exec_, {all}), row_keys, vectors);
    const auto unique = unique_rows<Exec>(exec_, row_keys, fbtt_shape.rows(), vectors, count * dim_, sorted_workspace_);
    const auto tree = prefix_tree(exec_, unique, tts_, tree_workspace_);
    fused_update(exec_, slice_gradients<Exec>(exec_, tree, tts_, packed, order_, workspace_), shards_, UpdateStep{},
                 slice_workspace_);
  }

 private:
  /// With a learning rate at which thousands of steps with the same gradients change little.
  UpdateShard make_core(const TensorTrainShape& shape, int t, const Training& of) {
    const std::int64_t dim = shape.slice_elements(t);
    const auto words = allocate<Exec, std::uint32_t>("shardmark::bench_core", shape.p[t] * row_bytes(of.type, dim) / 4);
    const auto state = allocate<Exec, float>("shardmark::bench_state", shape.p[t] * state_per_row(of.optimizer, dim));
    if (of.type == ValueType::bf16)
      fill_core<Bf16>(exec_, words.data(), shape.p[t] * dim);
    else
      fill_core<float>(exec_, words.data(), shape.p[t] * dim);
    Kokkos::deep_copy(exec_, state, 0.0F);
    held_.push_back(words);
    held_state_.push_back(state);
    return {.rows = words.data(),
            .state = state.data(),
            .dim = dim,
            .full_dim = dim,
            .optimizer = {.kind = of.optimizer, .learning_rate = 0x1p-20F},
            .value_type = of.type,
            .table = t};
  }

  static constexpr std::int64_t dim_ = fbtt_shape.dim();
  const Exec& exec_;
  const Problem& problem_;
  SliceSums order_;
  Gradients gradients_;
  TtKeys keys_of_;
  std::vector<Array<Exec, std::uint32_t>> held_;
  std::vector<Array<Exec, float>> held_state_;
  TensorTrains<Exec> tts_;
  ShardList<Exec, UpdateShard> shards_;
  ShardList<Exec, PackedRows> packed_;
  Array<Exec, TtBags> bags_;
  Array<Exec, std::int64_t> before_, zero_, inverse_;
  Array<Exec, float> pooled_;
  Scratch<Exec, std::int64_t> keys_{"shardmark::bench_keys"}, places_{"shardmark::bench_places"},
      row_keys_{"shardmark::bench_row_keys"}, vectors_{"shardmark::bench_vectors"};
  Scratch<Exec, float> rows_{"shardmark::bench_rows"};
  Scratch<Exec, LookupBlock> blocks_{"shardmark::bench_blocks"};
  Scratch<Exec, TtRows> tt_rows_{"shardmark::bench_train_rows"};
  UniqueRowsWorkspace<Exec> unique_workspace_, sorted_workspace_;
  PrefixTreeWorkspace<Exec> tree_workspace_;
  TensorTrainWorkspace<Exec> workspace_;
  RowGradientsWorkspace<Exec> row_workspace_, slice_workspace_;
};

/// Rates of the multiply-adds that are made, and of those that each lookup on its own would take, backward counted as
/// twice forward.
void tensor_train_of(benchmark::State& state, Suite& suite, const Training& of) {
  const Problem& problem = suite.start(of.shape);
  Tt tt(suite, of);
  const Contracted rows = contracted(problem, of);
  const Work work = work_of(problem, of, rows);
  const auto run = [&](std::size_t batch) {
    if (of.part != Part::backward) tt.forward(batch);
    if (of.part != Part::forward) tt.backward(batch);
  };
  measure(state, suite, run, work, {gemm_ceiling(suite, work.flops)});
  auto& counters = state.counters;
  const double median_us = counters["median_us"];
  const double share = of.part == Part::step ? 1.0 : of.part == Part::forward ? 1.0 / 3 : 2.0 / 3;
  const auto nominal = static_cast<double>(nominal_flops(fbtt_shape, problem.ids()));
  counters["us/lookup"] = median_us / static_cast<double>(problem.ids());
  counters["GFLOP/s"] = static_cast<double>(work.flops) / median_us * 1e-3;
  counters["nominal_GFLOP/s"] = share * nominal / median_us * 1e-3;
  counters["rows"] = static_cast<double>(problem.distinct());
  counters["prefixes"] = static_cast<double>(rows.prefixes[1]);
  if (suite.options().ceilings)
    counters["gemm_GFLOP/s"] = static_cast<double>(work.flops) / counters["gemm_us"].value * 1e-3;
}

}  // namespace

/// Forward in both directions, backward with two optimizers and sums in any order, and whole steps.
void add_tensor_train(Suite& suite, const Case& shape) {
  const auto add_training = [&](const std::string& kernel, const std::string& settings, const Training& of) {
    add("tensor_train_" + kernel + '/' + Problem::name(shape, of.type, suite.options()) + settings,
        [&suite, of](auto& state) { tensor_train_of(state, suite, of); });
  };
  add_training("forward", "", {shape, Part::forward});
  add_training("forward", "/direction:suffix", {.shape = shape, .part = Part::forward, .mirrored = true});
  for (const auto optimizer : {OptimizerKind::sgd, OptimizerKind::rowwise_adagrad})
    add_training("backward", "/optimizer:" + std::string(name_of(optimizer)),
                 {.shape = shape, .part = Part::backward, .optimizer = optimizer});
  add_training("backward", "/optimizer:sgd/order:unordered",
               {.shape = shape, .part = Part::backward, .order = SliceSums::unordered});
  for (const auto type : {ValueType::fp32, ValueType::bf16})
    add_training("step", "/optimizer:sgd", {.shape = shape, .type = type});
}

}  // namespace shardmark::kernels::bench
