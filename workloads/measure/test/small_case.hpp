// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.hpp"
#include "comm/placement/planner.hpp"
#include "workloads/measure/check.hpp"
#include "workloads/measure/prepare.hpp"
#include "workloads/step/decide.hpp"

namespace shardmark::workloads {

/// A small workload with everything that is awkward: tables with fewer rows than ranks, a dim that fits no vector, two
/// features on one table, an empty feature, repeated ids and empty bags.
inline RunOptions small_case(Pooling pooling, OptimizerKind optimizer, bool exact, ValueType type = ValueType::fp32) {
  RunOptions options;
  options.exact = exact;
  options.seed = 7;
  options.checked_steps = 3;
  options.batches = 3;
  Workload& workload = options.workload;
  workload.name = "small";
  workload.global_batch = 37;
  workload.replicate_rows = 10;
  workload.ids.ragged = true;
  workload.ids.weighted = true;
  const std::array<std::pair<std::int64_t, std::int64_t>, 5> shapes{{{3, 4}, {50, 16}, {1000, 8}, {1, 5}, {200, 12}}};
  for (const auto& [rows, dim] : shapes)
    workload.tables.push_back({.name = "t" + std::to_string(workload.tables.size()),
                               .rows = rows,
                               .dim = dim,
                               .optimizer = {.kind = optimizer, .learning_rate = 0.125F, .initial_accumulator = 0.5F},
                               .value_type = type});
  const std::array<std::pair<std::int64_t, std::int64_t>, 7> lookups{
      {{0, 1}, {1, 4}, {2, 2}, {1, 1}, {3, 3}, {4, 5}, {2, 0}}};
  for (const auto& [table, hotness] : lookups)
    workload.features.push_back({.name = "f" + std::to_string(workload.features.size()),
                                 .table = table,
                                 .pooling = pooling,
                                 .hotness = hotness});
  return options;
}

/// small_case with a dense model behind it; dlrm gets tables of one dim.
inline RunOptions dense_case(DenseKind kind, Pooling pooling, OptimizerKind optimizer = OptimizerKind::sgd) {
  const bool exact = kind == DenseKind::exact;
  RunOptions options = small_case(pooling, optimizer, exact);
  options.checked_steps = options.batches = 2;
  if (pooling == Pooling::none) options.workload.ids.ragged = false;
  options.workload.dense = DenseSpec{.kind = kind,
                                     .numerical_features = 3,
                                     .bottom_mlp = {6, 8},
                                     .top_mlp = {9, 5, 1},
                                     .stride = 2,
                                     .cross_layers = 2,
                                     .cross_rank = 4};
  options.dense.kind = kind;
  if (kind == DenseKind::dlrm)
    for (Table& table : options.workload.tables) table.dim = 8;
  if (pooling == Pooling::none) options.workload.features.pop_back();  // its bags are empty: no vector
  return options;
}

/// The case with nested ids in all features but one, 1 to 3 segments per sample, at this segment rank.
inline RunOptions nested(RunOptions options, std::int64_t segment_rank) {
  auto& features = options.workload.features;
  for (std::size_t f = 0; f < features.size(); ++f) {
    if (f == 1) continue;
    features[f].segments = 1 + static_cast<std::int64_t>(f) % 3;
    features[f].hotness *= features[f].segments;
    features[f].segment_rank = segment_rank;
  }
  return options;
}

/// 37 samples of 40 unweighted ids into one table of 12 rows of 4: nine samples name them all.
inline RunOptions one_small_table() {
  RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
  options.workload.tables = {{.name = "t", .rows = 12, .dim = 4}};
  options.workload.features = {{.name = "f", .table = 0, .pooling = Pooling::sum, .hotness = 40}};
  options.workload.ids = {};
  return options;
}

inline std::vector<StepInput> inputs_of(const comm::Communicator& comm, const RunOptions& options,
                                        BatchSource& batches) {
  const SampleRange own = samples_of(options.workload.global_batch, comm.size(), comm.rank());
  std::vector<StepInput> inputs;
  for (std::int64_t step = 0; step < options.checked_steps; ++step)
    inputs.push_back(make_step_input(comm, options.workload, batches.read(step, own.first, own.count), own.first, step,
                                     options.gradients()));
  return inputs;
}

/// A case whose first batch is `first`.
inline std::unique_ptr<ReadyCase> ready_case(const comm::Communicator& comm, ShardedTables& tables,
                                             const placement::Plan& plan, const Case& config, const StepInput& first,
                                             Fault fault = Fault::none) {
  static SyntheticGradient none;
  return std::make_unique<ReadyCase>(
      comm, tables, none, plan, config,
      decide(comm, plan, tables.tables(), tables.features(), config.movement_in_effect(), first), fault);
}

/// What the check finds wrong. bounds: those of products that are computed so; absent: as the case does.
inline std::int64_t wrong_values(const comm::Communicator& comm, const RunOptions& options, const placement::Plan& plan,
                                 const Case& config, std::optional<DenseMath> bounds = {}) {
  const auto batches = make_batch_source(options, [](const std::string&) {});
  const Expectation expectation(comm, options, *batches, config.movement.wire, {}, {},
                                bounds.value_or(config.dense_math));
  const auto inputs = inputs_of(comm, options, *batches);
  const auto& [described, features] = std::tie(options.workload.tables, options.workload.features);
  ShardedTables tables(plan, with_decisions(comm, described, features, inputs.front()), features, comm.rank());
  const auto ready = ready_case(comm, tables, plan, config, inputs.front(), options.fault);
  const auto dense = make_dense_model(comm, options);
  return find_wrong(comm, expectation, options.row_values(), ready->flight, *dense, inputs).count;
}

/// Every pair of wire types with every transfer that can carry it.
inline std::vector<Case> narrow_movements() {
  std::vector<Case> movements;
  for (const auto& forward : value_types)
    for (const auto& backward : value_types)
      for (const auto& transfer : placement::transfers)
        if (!placement::adds_on_the_way(transfer.value) && WireTypes{forward.value, backward.value} != WireTypes{})
          movements.push_back({.movement = {.transfer = transfer.value, .wire = {forward.value, backward.value}}});
  return movements;
}

inline bool makes_wrong_values(Fault fault) { return fault != Fault::none && fault < Fault::stop; }

/// Whether a fault that makes wrong values finds something to spoil: a table that has state, a replicated one, a second
/// step.
inline bool finds_prey(Fault fault, const RunOptions& options, const placement::Plan& plan) {
  const auto& tables = options.workload.tables;
  if (fault == Fault::state)
    return std::ranges::any_of(tables, [](const Table& t) { return state_per_row(t.optimizer.kind, t.dim) > 0; });
  if (fault == Fault::one_replica) return std::ranges::any_of(plan.tables, placement::has_replicas);
  return fault != Fault::late_step || options.checked_steps > 1;
}

}  // namespace shardmark::workloads
