// SPDX-License-Identifier: Apache-2.0
#include "workloads/net/draw_workload.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "reference/storage.hpp"
#include "workloads/cases/spec.hpp"
#include "workloads/net/net_setup.hpp"

namespace shardmark::workloads {
namespace {

using Json = nlohmann::ordered_json;

/// Sums of all that a step reads: it bounds the time that the reference takes.
constexpr std::int64_t least_limit = 2'000, most_elements = 200'000, most_elements_at_times = 4'000'000;

std::int64_t draw_rows(Draw& draw, int ranks) {
  if (draw.chance(0.25)) return draw.whole(1, ranks + 2);
  return draw.log_whole(1, draw.chance(0.2) ? 100'000 : 3'000);
}

std::int64_t draw_dim(Draw& draw) {
  if (draw.chance(0.5)) return draw.of({4, 8, 16, 32, 64});
  return draw.log_whole(1, 100);
}

Optimizer draw_optimizer(Draw& draw) {
  Optimizer optimizer{.kind = draw.chance(0.3) ? OptimizerKind::sgd : draw.of(optimizers).value};
  optimizer.learning_rate = draw.of({0.125F, 0.05F, 0.01F});
  optimizer.initial_accumulator = draw.of({0.5F, 0.1F, 1.0F});
  optimizer.epsilon = draw.of({1e-8F, 1e-3F});
  if (draw.chance(0.15)) {
    optimizer.weight_decay = draw.of({0.25F, 0.01F});
    optimizer.weight_decay_mode = draw.of(weight_decays).value;
  }
  if (optimizer.kind == OptimizerKind::ftrl && draw.chance(0.5)) {
    optimizer.l1 = 0.001F;
    optimizer.l2 = 0.01F;
    optimizer.beta = 1.0F;
  }
  return optimizer;
}

Table draw_table(Draw& draw, int ranks) {
  Table table;
  table.rows = draw_rows(draw, ranks);
  table.dim = draw_dim(draw);
  if (draw.chance(0.15)) table.value_type = draw.of(value_types).value;
  table.stochastic_rounding = draw.chance(0.1);
  if (draw.chance(0.08)) table.storage = draw.of(storages()).value;
  if (storage_of(table).comes_and_goes) table.any_key = draw.chance(0.6);
  if (draw.chance(0.7)) table.tensor_train.ranks = {draw.log_whole(1, 8)};
  return table;
}

/// Nests the ids of a feature, and pools their segments where its pooling can.
void draw_segments(Draw& draw, Feature& feature) {
  feature.segments = draw.log_whole(1, 6);
  feature.hotness = (feature.hotness + feature.segments - 1) / feature.segments * feature.segments;
  if (feature.pooling != Pooling::none && draw.chance(0.7)) feature.segment_rank = 1;
}

IdSpec draw_ids(Draw& draw) {
  IdSpec ids;
  ids.distribution = draw.of(id_distributions).value;
  ids.alpha = draw.of({1.05, 1.05, 0.5, 2.0, 20.0});  // the last: nearly all ids are 0
  ids.shuffled = draw.chance(0.3);
  ids.ragged = draw.chance(0.4);
  ids.weighted = draw.chance(0.3);
  if (draw.chance(0.2)) ids.shift = draw.log_whole(1, 100);
  if (draw.chance(0.2)) ids.drift = {draw.of({0.01, 0.1, 0.5, 1.0}), draw.log_whole(1, 4)};
  if (draw.chance(0.2)) ids.overlap = draw.of({0.0, 0.1, 0.5, 0.9, 1.0});
  return ids;
}

DenseSpec draw_dense(Draw& draw, std::int64_t numerical) {
  DenseSpec dense{.kind = draw.of({DenseKind::mlp, DenseKind::dlrm, DenseKind::dcnv2})};
  dense.numerical_features = numerical;
  if (numerical > 0 && draw.chance(0.7)) dense.bottom_mlp = {draw.log_whole(1, 16), draw.log_whole(1, 16)};
  if (draw.chance(0.6)) dense.top_mlp = {draw.log_whole(1, 16)};
  dense.top_mlp.push_back(1);
  dense.cross_layers = draw.whole(1, 3);
  dense.cross_rank = draw.log_whole(1, 8);
  dense.stride = draw.whole(1, 3);
  return dense;
}

/// Returns the elements of the rows of a sample.
double elements_of_sample(const Workload& workload) {
  double elements = 1.0;
  for (const Feature& feature : workload.features)
    elements += static_cast<double>((std::max<std::int64_t>(1, bags_per_sample(feature)) + feature.hotness) *
                                    workload.tables[feature.table].dim);
  return elements;
}

void draw_batch(Draw& draw, Workload& workload) {
  workload.global_batch = draw.chance(0.15) ? draw.whole(1, 5) : draw.log_whole(1, 20'000);
  const std::int64_t most =
      draw.chance(0.01) ? most_elements_at_times : draw.log_whole(1, most_elements / least_limit) * least_limit;
  const double fits = static_cast<double>(most) / elements_of_sample(workload);
  workload.global_batch = std::clamp<std::int64_t>(static_cast<std::int64_t>(fits), 1, workload.global_batch);
}

}  // namespace

Json draw_workload(Draw& draw, int ranks) {
  Workload workload;
  workload.name = "drawn";
  const std::int64_t tables = draw.log_whole(1, 8);
  const Optimizer usual = draw_optimizer(draw);
  const bool optimizers_differ = draw.chance(0.25), poolings_differ = draw.chance(0.4);
  const std::int64_t common_dim = draw.chance(0.5) ? draw_dim(draw) : 0;
  const Pooling common = draw.chance(0.5) ? Pooling::sum : draw.of(poolings).value;
  for (std::int64_t t = 0; t < tables; ++t) {
    Table table = draw_table(draw, ranks);
    table.name = "t" + std::to_string(t);
    if (common_dim > 0) table.dim = common_dim;
    table.optimizer = optimizers_differ ? draw_optimizer(draw) : usual;
    if (storage_of(table).computes() && table.value_type == ValueType::int8) table.value_type = ValueType::fp32;
    if (table.value_type == ValueType::int8) table.optimizer.kind = OptimizerKind::none;  // others are refused
    workload.tables.push_back(std::move(table));
    const std::int64_t readers = draw.chance(0.15) ? 0 : draw.whole(1, draw.chance(0.3) ? 3 : 1);
    for (std::int64_t f = 0; f < readers; ++f)
      workload.features.push_back({.name = "f" + std::to_string(workload.features.size()),
                                   .table = t,
                                   .pooling = poolings_differ ? draw.of(poolings).value : common,
                                   .hotness = draw.chance(0.08) ? 0 : draw.log_whole(1, draw.chance(0.2) ? 60 : 6)});
  }
  if (workload.features.empty())
    workload.features.push_back({.name = "f0", .table = 0, .pooling = common, .hotness = 2});
  std::ranges::shuffle(workload.features, draw.random());
  if (draw.chance(0.3))
    for (Feature& feature : workload.features)
      if (draw.chance(0.6)) draw_segments(draw, feature);
  workload.ids = draw_ids(draw);
  if (has_any_keys(workload.tables)) {
    if (draw.chance(0.5))
      workload.ids.fresh = draw.of({0.01, 0.3, 1.0});
    else if (draw.chance(0.5))
      workload.ids.half_life = draw.log_whole(1, 20);
  }
  workload.replicate_rows = draw.of({10, 100, 6000});
  if (draw.chance(0.95)) workload.dense = draw_dense(draw, draw.whole(0, 5));
  draw_batch(draw, workload);
  return to_json(workload);
}

Json draw_criteo_workload(Draw& draw) {
  Workload workload;
  workload.name = "drawn-criteo";
  const Optimizer optimizer = draw_optimizer(draw);
  const std::int64_t dim = draw.chance(0.8) ? draw.log_whole(1, 16) : 0;
  const bool larger = draw.chance(0.5);
  for (std::int64_t t = 0; t < 26; ++t) {
    const std::string number = std::to_string(t + 1);
    workload.tables.push_back({.name = "C" + number,
                               .rows = larger ? draw.log_whole(rows_of_sample_file(t), 500) : draw.log_whole(1, 500),
                               .dim = dim > 0 ? dim : draw.log_whole(1, 16),
                               .optimizer = optimizer});
    workload.features.push_back({.name = "f" + number, .table = t, .pooling = Pooling::sum, .hotness = 1});
  }
  workload.replicate_rows = draw.of({10, 100});
  workload.dense = draw_dense(draw, 13);
  draw_batch(draw, workload);
  workload.global_batch = std::min<std::int64_t>(workload.global_batch, 300);
  return to_json(workload);
}

namespace {

/// Draws `parts` + 1 ascending numbers from begin to end, with at least one between two neighbours.
std::vector<std::int64_t> draw_cuts(Draw& draw, std::int64_t begin, std::int64_t end, std::int64_t parts, bool even) {
  std::set<std::int64_t> cuts{begin, end};
  for (std::int64_t k = 1; even && k < parts; ++k) cuts.insert(begin + k * (end - begin) / parts);
  while (std::ssize(cuts) < parts + 1) cuts.insert(draw.whole(begin + 1, end - 1));
  return {cuts.begin(), cuts.end()};
}

/// Sets that are the rows [begin, end) together: blocks, or every n-th row, of which one set may be halved again.
std::vector<placement::RowSet> draw_row_sets(Draw& draw, std::int64_t begin, std::int64_t end, std::int64_t parts) {
  std::vector<placement::RowSet> sets;
  if (draw.chance(0.6)) {
    const auto cuts = draw_cuts(draw, begin, end, parts, draw.chance(0.4));
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) sets.push_back({cuts[k], cuts[k + 1], 1});
    return sets;
  }
  const bool halved = parts > 2 && end - begin >= 2 * parts && draw.chance(0.3);
  const std::int64_t stride = halved ? parts - 1 : parts;
  for (std::int64_t k = 0; k < stride; ++k) sets.push_back({begin + k, end, stride});
  if (!halved) return sets;
  sets.back() = {begin + stride - 1, end, 2 * stride};
  sets.push_back({begin + 2 * stride - 1, end, 2 * stride});
  return sets;
}

std::vector<int> draw_holders(Draw& draw, int ranks) {
  std::vector<int> holders(static_cast<std::size_t>(ranks));
  std::iota(holders.begin(), holders.end(), 0);
  std::ranges::shuffle(holders, draw.random());
  if (draw.chance(0.3)) holders.resize(static_cast<std::size_t>(draw.whole(1, ranks)));
  return holders;
}

void draw_shards(Draw& draw, const Table& table, std::vector<int> holders, placement::TablePlacement& placement) {
  if (!storage_of(table).splits) {
    placement.shards.push_back(placement::whole(table, draw.of(holders)));
    return;
  }
  if (table.rows > 1 && !storage_of(table).comes_and_goes && draw.chance(0.2))
    placement.hot_rows = draw.log_whole(1, table.rows - 1);
  const std::int64_t hot = placement.hot_rows;
  const std::int64_t strips = hot > 0 || draw.chance(0.6) ? 1 : draw.whole(1, std::min<std::int64_t>(table.dim, 3));
  const auto columns = draw_cuts(draw, 0, table.dim, strips, draw.chance(0.3));
  for (std::size_t c = 0; c + 1 < columns.size(); ++c) {
    std::ranges::shuffle(holders, draw.random());
    const bool rows_stay = draw.chance(0.3);
    const std::int64_t most =
        std::min<std::int64_t>(table.rows - hot, std::ssize(holders) + (draw.chance(0.1) ? 1 : 0));
    const auto sets = draw_row_sets(draw, hot, table.rows, rows_stay ? 1 : draw.whole(1, most));
    for (std::size_t k = 0; k < sets.size(); ++k)
      placement.shards.push_back({sets[k], columns[c], columns[c + 1], holders[k % holders.size()]});
  }
}

}  // namespace

placement::Plan draw_plan(Draw& draw, const std::vector<Table>& tables, int ranks) {
  placement::Plan plan{.name = "drawn", .ranks = ranks, .tables = {}};
  const std::vector<int> holders = draw_holders(draw, ranks);
  for (const Table& table : tables) {
    placement::TablePlacement& placement = plan.tables.emplace_back();
    placement.data_parallel = !storage_of(table).comes_and_goes && draw.chance(0.2);
    if (!placement.data_parallel) draw_shards(draw, table, holders, placement);
  }
  return plan;
}

}  // namespace shardmark::workloads
