// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "reference/json.hpp"
#include "reference/number.hpp"
#include "reference/storage.hpp"
#include "workloads/builtin_specs.hpp"
#include "workloads/cases/spec_entries.hpp"
#include "workloads/cases/spec_keys.hpp"

namespace shardmark::workloads {
namespace spec_keys {

void keys_of(Keys& keys, Optimizer& optimizer) {
  keys.must("name", optimizer.kind);
  keys.may_not_negative("learning_rate", optimizer.learning_rate);
  keys.may_not_negative("epsilon", optimizer.epsilon);
  keys.may_not_negative("initial_accumulator", optimizer.initial_accumulator);
  keys.may_not_negative("momentum", optimizer.momentum);
  keys.may_not_negative("decay", optimizer.decay);
  keys.may_not_negative("beta1", optimizer.beta1);
  keys.may_not_negative("beta2", optimizer.beta2);
  keys.may_not_negative("l1", optimizer.l1);
  keys.may_not_negative("l2", optimizer.l2);
  keys.may_not_negative("beta", optimizer.beta);
  keys.may_not_negative("weight_decay", optimizer.weight_decay);
  keys.may("weight_decay_mode", optimizer.weight_decay_mode);
}

void keys_of(Keys& keys, IdSpec& ids) {
  keys.may("distribution", ids.distribution);
  keys.may_not_negative("alpha", ids.alpha);
  keys.may("shuffled", ids.shuffled);
  keys.may("ragged", ids.ragged);
  keys.may("weighted", ids.weighted);
  keys.unless(std::int64_t{0}, "drift", ids.drift);
  keys.at_least(0, "drift", ids.drift);
}

void keys_of(Keys& keys, PublishedStep& step) {
  keys.must("machine", step.machine);
  keys.must("ranks", step.ranks);
  keys.at_least(1, "ranks", step.ranks);
  keys.must("plan", step.plan);
  keys.must("ms", step.ms);
  keys.not_negative("ms", step.ms);
  keys.must("source", step.source);
  keys.unless(false, "ids_at_owners", step.ids_at_owners);
  keys.unless(0.0, "evaluations", step.evaluations);
  keys.not_negative("evaluations", step.evaluations);
  keys.unless(false, "used", step.used);
}

void keys_of(Keys& keys, PublishedLookup& lookup) {
  keys.must("us", lookup.us);
  keys.not_negative("us", lookup.us);
  keys.unless(1.0, "counted_iterations", lookup.counted_iterations);
  keys.not_negative("counted_iterations", lookup.counted_iterations);
  keys.must("source", lookup.source);
}

void keys_of(Keys& keys, DenseSpec& dense) {
  const DenseSpec plain;
  keys.must("model", dense.kind);
  if (!has_layers(dense.kind))
    throw InputError(
        fmt::format("{}: \"model\" must be mlp, dlrm or dcnv2, got {}", keys.where(), name_of(dense.kind)));
  keys.must("numerical_features", dense.numerical_features);
  keys.at_least(0, "numerical_features", dense.numerical_features);
  keys.unless(plain.bottom_mlp, "bottom_mlp", dense.bottom_mlp);
  keys.at_least(1, "bottom_mlp", dense.bottom_mlp);
  keys.unless(plain.stride, "stride", dense.stride);
  keys.at_least(1, "stride", dense.stride);
  const std::int64_t least = dense.kind == DenseKind::dcnv2 ? 1 : 0;
  keys.unless(plain.cross_layers, "cross_layers", dense.cross_layers);
  keys.at_least(least, "cross_layers", dense.cross_layers);
  keys.unless(plain.cross_rank, "cross_rank", dense.cross_rank);
  keys.at_least(least, "cross_rank", dense.cross_rank);
  keys.must("top_mlp", dense.top_mlp);
  keys.at_least(1, "top_mlp", dense.top_mlp);
}

void keys_of(Keys& keys, RowCache& cache) {
  const RowCache plain;
  keys.unless(plain.rows, "rows", cache.rows);
  keys.unless(plain.count_slots, "count_slots", cache.count_slots);
  keys.unless(plain.writes, "writes", cache.writes);
  keys.unless(plain.populate_every, "populate_every", cache.populate_every);
}

void keys_of(Keys& keys, TensorTrain& tt) {
  const TensorTrain plain;
  keys.unless(plain.cores, "cores", tt.cores);
  keys.unless(plain.row_shape, "row_shape", tt.row_shape);
  keys.unless(plain.dim_shape, "dim_shape", tt.dim_shape);
  keys.unless(plain.ranks, "ranks", tt.ranks);
  keys.unless(plain.compression, "compression", tt.compression);
  keys.unless(plain.initializer, "initializer", tt.initializer);
  keys.unless(plain.variance, "variance", tt.variance);
  keys.unless(plain.import_file, "import", tt.import_file);
  keys.unless(plain.direction, "direction", tt.direction);
  keys.unless(plain.slice_sums, "slice_sums", tt.slice_sums);
  keys.unless(plain.fused_update, "fused_update", tt.fused_update);
  keys.unless(plain.workspace_mib, "workspace_mib", tt.workspace_mib);
  keys.unless(plain.cache, "cache", tt.cache);
}

/// This is the largest number of tables that an entry may stand for.
constexpr std::int64_t largest_count = 1'000'000;

void keys_of(Keys& keys, TableEntry& entry, const Optimizer& usual) {
  const Table plain;
  Table& table = entry.table;
  keys.must("name", table.name);
  keys.may("count", entry.count);
  keys.within(1, largest_count, "count", entry.count.value_or(1));
  keys.must("rows", table.rows);
  keys.at_least(1, "rows", table.rows);
  keys.must("dim", table.dim);
  keys.at_least(1, "dim", table.dim);
  keys.unless(usual, "optimizer", table.optimizer);
  keys.unless(plain.storage, "storage", table.storage);
  keys.unless(plain.value_type, "value_type", table.value_type);
  keys.unless(plain.stochastic_rounding, "stochastic_rounding", table.stochastic_rounding);
  keys.unless(plain.tensor_train, "tensor_train", table.tensor_train);
}

void keys_of(Keys& keys, FeatureEntry& entry) {
  const Feature plain;
  keys.must("name", entry.feature.name);
  keys.must("table", entry.table);
  keys.may("pooling", entry.feature.pooling);
  keys.may("hotness", entry.feature.hotness);
  keys.at_least(0, "hotness", entry.feature.hotness);
  keys.unless(plain.segments, "segments", entry.feature.segments);
  keys.at_least(0, "segments", entry.feature.segments);
  keys.unless(plain.segment_rank, "segment_rank", entry.feature.segment_rank);
  if (keys.reads()) check_segments(entry.feature, keys.where());
}

void keys_of(Keys& keys, Workload& workload) {
  Table usual;
  if (!workload.tables.empty()) usual.optimizer = workload.tables.front().optimizer;
  keys.must("name", workload.name);
  keys.may("description", workload.description);
  keys.must("global_batch", workload.global_batch);
  keys.at_least(1, "global_batch", workload.global_batch);
  keys.must("optimizer", usual.optimizer);
  keys.may("ids", workload.ids);
  keys.may("plans", workload.plans);
  keys.may("replicate_rows", workload.replicate_rows);
  keys.at_least(0, "replicate_rows", workload.replicate_rows);
  keys.unless(std::int64_t{0}, "tt_min_rows", workload.tt_min_rows);
  keys.at_least(0, "tt_min_rows", workload.tt_min_rows);
  keys.may("scale", workload.scale);
  keys.at_least(1, "scale", workload.scale);
  keys.may("dense", workload.dense);
  keys.may_list("published_steps", workload.published_steps);
  keys.may("published_lookup", workload.published_lookup);
  std::vector<TableEntry> tables = entries_of(workload.tables);
  keys.list("tables", tables, {usual, {}}, usual.optimizer);
  std::vector<FeatureEntry> features = entries_of(workload.features, workload.tables, tables);
  keys.list("features", features, {});
  if (!keys.reads()) return;
  workload.tables = tables_of(tables, keys.where());
  if (workload.tables.empty()) throw InputError(keys.where() + ": there are no tables");
  workload.features = features_of(features, tables, keys.where());
  if (workload.features.empty()) throw InputError(keys.where() + ": there are no features");
}

}  // namespace spec_keys

namespace {

using spec_keys::Json;
using spec_keys::Keys;

Workload named_workload(const std::string& name_or_file) {
  if (!name_or_file.ends_with(".json")) {
    const auto& spec = choice_named(builtin_specs, "workload (or spec file ending in .json)", name_or_file);
    return workload_from_json(Json::parse(spec.text), "specs/" + name_or_file + ".json");
  }
  std::ifstream file(name_or_file);
  if (!file || std::filesystem::is_directory(name_or_file)) throw InputError(name_or_file + ": cannot be read");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return workload_from_json(parse_json(text, name_or_file), name_or_file);
}

}  // namespace

Json to_json(Optimizer optimizer) { return Keys::write(optimizer); }
Json to_json(Workload workload) { return Keys::write(workload); }

Workload workload_from_json(const Json& json, const std::string& origin) {
  Workload workload;
  Keys::read(json, origin, workload);
  return workload;
}

std::vector<std::string> builtin_workloads() {
  std::vector<std::string> names;
  for (const auto& spec : builtin_specs) names.emplace_back(spec.name);
  return names;
}

std::vector<std::int64_t> rows_of_features(const Workload& workload) {
  std::vector<std::int64_t> rows;
  for (const Feature& feature : workload.features) rows.push_back(workload.tables[feature.table].rows);
  return rows;
}

std::vector<std::int64_t> output_widths(const Workload& workload) {
  std::vector<std::int64_t> widths;
  for (const Feature& feature : workload.features)
    widths.push_back(workload.tables[feature.table].dim * bags_per_sample(feature));
  return widths;
}

void check_segments(const Feature& feature, const std::string& where) {
  const auto [name, table, pooling, hotness, segments, rank] = feature;
  const auto refuse = [&](const std::string& why) { throw InputError(where + ": " + why); };
  if (rank < 0 || rank > 1)
    refuse(
        fmt::format("segment_rank {} is neither 0, a bag per sample, nor 1, a bag per segment; for a vector per id "
                    "use pooling none",
                    rank));
  if (rank == 1 && segments == 0)
    refuse("segment_rank 1 pools segments, but the ids are not nested; give segments, how many a sample has");
  if (rank == 1 && pooling == Pooling::none)
    refuse(
        "segment_rank 1 pools segments, but pooling none gives a vector per id; use segment_rank 0 or another "
        "pooling");
  if (segments > 0 && hotness % segments != 0)
    refuse(fmt::format("{} ids per sample are no multiple of its {} segments; change hotness or segments", hotness,
                       segments));
}

void scale_rows(Workload& workload, std::int64_t divisor) {
  if (divisor > std::numeric_limits<std::int64_t>::max() / workload.scale)
    throw InputError(fmt::format("scale 1/{} of a workload at scale 1/{} is too small", divisor, workload.scale));
  for (auto& table : workload.tables) {
    table.rows = (table.rows - 1) / divisor + 1;
    if (divisor > 1) table.tensor_train.row_shape.clear();
  }
  workload.scale *= divisor;
}

void keep_small_tables_dense(Workload& workload) {
  for (Table& table : workload.tables)
    if (table.rows < workload.tt_min_rows && storage_of(table).computes()) table.storage = Storage::dense;
}

std::int64_t parse_scale(std::string_view text) {
  if (const auto divisor = number_in<std::int64_t>(text.starts_with("1/") ? text.substr(2) : text);
      divisor && *divisor >= 1)
    return *divisor;
  const auto share = number_in<double>(text);
  const double nearest = share && *share > 0.0 && *share < 1.0 ? std::round(1.0 / *share) : 0.0;
  if (nearest > 0.0 && nearest < 1e15 && std::abs(*share * nearest - 1.0) < 1e-9) return std::llround(nearest);
  throw InputError(fmt::format("scale '{}' is not 1/N with N at least 1{}", text,
                               nearest > 0.0 && nearest < 1e15 ? fmt::format("; did you mean 1/{}?", nearest) : ""));
}

Workload load_workload(const std::string& name_or_file, std::string_view scale) {
  Workload workload = named_workload(name_or_file);
  scale_rows(workload, parse_scale(scale));
  keep_small_tables_dense(workload);
  return workload;
}

}  // namespace shardmark::workloads
