// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "reference/input_file.hpp"
#include "reference/number.hpp"
#include "reference/storage.hpp"
#include "workloads/builtin_specs.hpp"
#include "workloads/cases/spec_entries.hpp"
#include "workloads/cases/spec_keys.hpp"
#include "workloads/example_specs.hpp"

namespace shardmark::workloads {
namespace spec_keys {

/// Names a number that must not be below 0 and may be left out.
template <class T>
void may_not_negative(Keys& keys, const std::string& key, T& member, std::string_view description,
                      std::string_view unit = {}) {
  keys.may(key, member, description, unit);
  keys.not_negative(key, member);
}

void keys_of(Keys& keys, Optimizer& optimizer) {
  keys.must("name", optimizer.kind, "update rule; none: inference");
  may_not_negative(keys, "learning_rate", optimizer.learning_rate, "learning rate, of all but none");
  may_not_negative(keys, "epsilon", optimizer.epsilon, "adagrad, rowwise_adagrad, rmsprop, adam, rowwise_adam, lamb");
  may_not_negative(keys, "initial_accumulator", optimizer.initial_accumulator,
                   "initial sum of g^2: adagrad, rowwise_adagrad, ftrl");
  may_not_negative(keys, "momentum", optimizer.momentum, "momentum, nesterov");
  may_not_negative(keys, "decay", optimizer.decay, "decay of the mean of g^2: rmsprop");
  may_not_negative(keys, "beta1", optimizer.beta1, "decay of the mean of g: adam, rowwise_adam, lamb");
  may_not_negative(keys, "beta2", optimizer.beta2, "decay of the mean of g^2: adam, rowwise_adam, lamb");
  may_not_negative(keys, "l1", optimizer.l1, "l1 regularization: ftrl");
  may_not_negative(keys, "l2", optimizer.l2, "l2 regularization: ftrl");
  may_not_negative(keys, "beta", optimizer.beta, "beta: ftrl");
  may_not_negative(keys, "weight_decay", optimizer.weight_decay, "weight decay, of all but none");
  keys.may("weight_decay_mode", optimizer.weight_decay_mode, "what weight decay is added to");
}

void keys_of(Keys& keys, IdSpec& ids) {
  keys.may("distribution", ids.distribution, "law by which ids are drawn");
  may_not_negative(keys, "alpha", ids.alpha, "exponent of the power law; 0: uniform");
  keys.may("shuffled", ids.shuffled, "hot rows are scattered over the table; else row 0 is the hottest");
  keys.may("ragged", ids.ragged, "samples have 0 to 2 x hotness ids; else always hotness");
  keys.may("weighted", ids.weighted, "every id has a weight");
  keys.unless(std::int64_t{0}, "shift", ids.shift, "rows by which all ids move from one batch to the next", "rows");
  keys.at_least(0, "shift", ids.shift);
  keys.unless(0.0, "drift_share", ids.drift.share,
              "share of the ids that exchange their rows every drift_every batches");
  keys.share("drift_share", ids.drift.share);
  keys.unless(std::int64_t{1}, "drift_every", ids.drift.every, "batches from one exchange of rows to the next",
              "batches");
  keys.at_least(1, "drift_every", ids.drift.every);
  keys.may("overlap", ids.overlap,
           "share of the distinct rows of a batch that the batch before has too; else that of the law");
  keys.share("overlap", ids.overlap.value_or(0.0));
  keys.unless(0.0, "new", ids.fresh,
              "of tables of rows -1: share of the keys that a batch can name which none has named before");
  keys.share("new", ids.fresh);
  keys.unless(std::int64_t{0}, "half_life", ids.half_life,
              "of tables of rows -1: batches after which half of the keys have died, and others are hot; 0: none dies",
              "batches");
  keys.at_least(0, "half_life", ids.half_life);
}

void keys_of(Keys& keys, PublishedStep& step) {
  keys.must("machine", step.machine, "a described machine (shardmark list machines)");
  keys_of_run(keys, step);
}

void keys_of_run(Keys& keys, PublishedStep& step) {
  keys.must("ranks", step.ranks, "ranks that it was measured on", "ranks");
  keys.at_least(1, "ranks", step.ranks);
  keys.must("plan", step.plan, "planner that makes their plan");
  keys.must("ms", step.ms, "time of a whole step, the dense part included", "ms");
  keys.not_negative("ms", step.ms);
  keys.must("source", step.source, "who published it, and what was run");
  keys.unless({}, "set", step.settings, "options that it ran with, KEY=VALUE as of --set");
  keys.unless(false, "ids_at_owners", step.ids_at_owners, "ids were at their owners: input_dist exchanges nothing");
  keys.unless(0.0, "evaluations", step.evaluations, "batches that were evaluated in the time of a step", "batches");
  keys.not_negative("evaluations", step.evaluations);
  keys.unless(false, "used", step.used, "the step chose a constant of the machine, so it is no hold-out");
}

void keys_of(Keys& keys, PublishedLookup& lookup) {
  keys.must("us", lookup.us, "time of forward, backward and update, per lookup", "us");
  keys.not_negative("us", lookup.us);
  keys.unless(1.0, "counted_iterations", lookup.counted_iterations,
              "iterations whose flops the published rate divides by the time of one");
  keys.not_negative("counted_iterations", lookup.counted_iterations);
  keys.must("source", lookup.source, "who published it, and on what");
}

void keys_of(Keys& keys, DenseSpec& dense) {
  const DenseSpec plain;
  keys.must("model", dense.kind, "layers on the pooled embeddings");
  keys.among(has_layers, "model", dense.kind);
  keys.must("numerical_features", dense.numerical_features, "numerical features of a sample", "values");
  keys.at_least(0, "numerical_features", dense.numerical_features);
  keys.unless(plain.bottom_mlp, "bottom_mlp", dense.bottom_mlp, "outputs of the layers on numerical features",
              "values");
  keys.at_least(1, "bottom_mlp", dense.bottom_mlp);
  keys.unless(plain.stride, "stride", dense.stride, "mlp: neighbouring values that are averaged into one input",
              "values");
  keys.at_least(1, "stride", dense.stride);
  const std::int64_t least = keys.reads() && dense.kind == DenseKind::dcnv2 ? 1 : 0;
  keys.unless(plain.cross_layers, "cross_layers", dense.cross_layers, "dcnv2: number of cross layers, at least 1",
              "layers");
  keys.at_least(least, "cross_layers", dense.cross_layers);
  keys.unless(plain.cross_rank, "cross_rank", dense.cross_rank, "dcnv2: rank of their matrices, at least 1");
  keys.at_least(least, "cross_rank", dense.cross_rank);
  keys.must("top_mlp", dense.top_mlp, "outputs of the layers that give the logit; the last is 1", "values");
  keys.at_least(1, "top_mlp", dense.top_mlp);
}

void keys_of(Keys& keys, RowCache& cache) {
  const RowCache plain;
  keys.unless(plain.rows, "rows", cache.rows, "decompressed rows that are kept; 0: no cache", "rows");
  keys.unless(plain.count_slots, "count_slots", cache.count_slots,
              "rows that are counted while they are not cached; 0: twice rows", "rows");
  keys.unless(plain.writes, "writes", cache.writes, "what becomes of gradients of cached rows");
  keys.unless(plain.populate_every, "populate_every", cache.populate_every,
              "steps from one choice of the cached rows to the next", "steps");
}

void keys_of(Keys& keys, TensorTrain& tt) {
  const TensorTrain plain;
  keys.unless(plain.cores, "cores", tt.cores, "number of cores, 2 to 6", "cores");
  keys.unless(plain.row_shape, "row_shape", tt.row_shape,
              "slices of each core, their product at least the rows; []: suggested", "slices");
  keys.unless(plain.dim_shape, "dim_shape", tt.dim_shape, "columns of each core, their product the dim; []: suggested",
              "columns");
  keys.unless(plain.ranks, "ranks", tt.ranks, "ranks between cores, or one for all; []: by compression, else 32");
  keys.unless(plain.compression, "compression", tt.compression,
              "least elements of the table per element of its cores; 0: not asked for");
  keys.unless(plain.initializer, "initializer", tt.initializer, "how entries of cores are drawn");
  keys.unless(plain.variance, "variance", tt.variance, "variance of the table's entries; 0: as dense tables");
  keys.unless(plain.import_file, "import", tt.import_file, "file of cores to begin with (shardmark data tensor-train)");
  keys.unless(plain.direction, "direction", tt.direction, "which products of neighbouring cores rows share");
  keys.unless(plain.slice_sums, "slice_sums", tt.slice_sums, "order in which gradients of a slice are added");
  keys.unless(plain.fused_update, "fused_update", tt.fused_update,
              "slices are updated as their gradients are summed; else from stored gradients");
  keys.unless(plain.workspace_mib, "workspace_mib", tt.workspace_mib, "most intermediate products of an MPI rank",
              "MiB");
  keys.unless(plain.cache, "cache", tt.cache, "decompressed rows beside the cores");
}

/// Names what is written as a text, and read by parse(text).
template <class T, class Parse>
void may_text(Keys& keys, const std::string& key, T& member, std::string_view description, const Parse& parse) {
  std::string text = text_of(member);
  keys.unless(text_of(T{}), key, text, description);
  if (!keys.reads()) return;
  try {
    member = parse(text);
  } catch (const InputError& error) {
    keys.fail(key, error.what());
  }
}

void keys_of(Keys& keys, DynamicRules& rules) {
  const DynamicRules plain;
  const std::int64_t capacity = rules.eviction.capacity;
  may_text(keys, "admit", rules.admission, "which new keys get a row: all, counter:F, bloom:F:p",
           reference::admission_named);
  may_text(keys, "evict", rules.eviction, "which rows go at the end of a step: none, idle:L, l2:T, lru, lfu",
           [](std::string_view text) { return reference::eviction_named(text); });
  rules.eviction.capacity = capacity;
  keys.unless(plain.eviction.capacity, "capacity", rules.eviction.capacity, "most rows; 0: as many as come", "rows");
  keys.at_least(0, "capacity", rules.eviction.capacity);
  keys.unless(plain.absent, "absent", rules.absent, "what a key reads that has no row");
}

/// This is the largest number of tables that an entry may stand for.
constexpr std::int64_t largest_count = 1'000'000;

/// Names the rows of a table, or -1 and how many keys are expected.
void rows_of(Keys& keys, Table& table) {
  constexpr std::int64_t any = -1;
  std::int64_t rows = table.any_key ? any : table.rows, expected = table.any_key ? table.rows : 0;
  keys.must("rows", rows, "rows of the table, before --scale; -1: keys are any integers, of storage dynamic", "rows");
  keys.at_least(keys.reads() && rows != any ? 1 : any, "rows", rows);
  keys.unless(std::int64_t{0}, "keys", expected,
              "of rows -1: different keys that are expected, before --scale, and that ids are drawn from; 0: capacity",
              "keys");
  keys.at_least(0, "keys", expected);
  std::int64_t first = table.keys.first, last = table.keys.last();
  keys.unless(KeyRange::least, "min_key", first, "of rows -1: the least key that may come");
  keys.unless(KeyRange::most, "max_key", last, "of rows -1: the greatest key that may come");
  if (!keys.reads()) return;
  const bool closed = first != KeyRange::least || last != KeyRange::most;
  if (rows != any && (expected > 0 || closed))
    keys.fail(expected > 0               ? "keys"
              : first != KeyRange::least ? "min_key"
                                         : "max_key",
              fmt::format("\"keys\", \"min_key\" and \"max_key\" are for rows -1, not {}", rows));
  if (first > last) keys.fail("max_key", fmt::format("\"max_key\" {} is below \"min_key\" {}", last, first));
  table.any_key = rows == any;
  table.rows = rows;
  if (!table.any_key) return;
  table.keys = {first, last};
  const std::uint64_t most = table.keys.width;  // one less than the keys
  if (expected > 0 && static_cast<std::uint64_t>(expected) - 1 > most)
    keys.fail("keys", fmt::format("\"keys\" {} are more than there are from {} to {}", expected, first, last));
  constexpr std::uint64_t countable = std::uint64_t{1} << 40;
  table.rows = expected == 0 && most < countable ? static_cast<std::int64_t>(most) + 1 : expected;
}

void keys_of(Keys& keys, TableEntry& entry, const Optimizer& usual) {
  const Table plain;
  Table& table = entry.table;
  keys.must("name", table.name, "name of the table, or stem of the names of count tables");
  keys.may("count", entry.count, "tables that this entry stands for: NAME_0, NAME_1, ...", "tables");
  keys.within(1, largest_count, "count", entry.count.value_or(1));
  rows_of(keys, table);
  keys.must("dim", table.dim, "values of a row", "values");
  keys.at_least(1, "dim", table.dim);
  keys.unless(usual, "optimizer", table.optimizer, "update rule of this table; else that of the top level");
  keys.unless(plain.storage, "storage", table.storage, "what stands for the rows in memory (tt: a tensor train)");
  keys.unless(plain.value_type, "value_type", table.value_type, "how values are kept");
  keys.unless(plain.stochastic_rounding, "stochastic_rounding", table.stochastic_rounding,
              "new values of fp16 and bf16 tables are rounded at random; else to the nearest");
  keys.unless(plain.tensor_train, "tensor_train", table.tensor_train, "shape of the tensor train, of storage tt");
  keys.unless(plain.dynamic, "dynamic", table.dynamic, "how rows come and go, of storage dynamic");
}

void keys_of(Keys& keys, FeatureEntry& entry) {
  const Feature plain;
  keys.must("name", entry.feature.name, "name of the feature");
  keys.must("table", entry.table, "table that it reads, or an entry with count; several features may share one");
  keys.may("pooling", entry.feature.pooling, "how the rows of a bag become one pooled embedding");
  keys.may("hotness", entry.feature.hotness, "ids of a sample; with --data the file says how many", "ids");
  keys.at_least(0, "hotness", entry.feature.hotness);
  keys.unless(plain.segments, "segments", entry.feature.segments,
              "segments of a sample, which share its hotness evenly; 0: ids are not nested", "segments");
  keys.at_least(0, "segments", entry.feature.segments);
  keys.unless(plain.segment_rank, "segment_rank", entry.feature.segment_rank,
              "what is a bag: 0 the sample, 1 each of its segments");
  if (keys.reads()) check_segments(entry.feature, keys.where());
}

void keys_of(Keys& keys, Workload& workload) {
  Table usual;
  if (!workload.tables.empty()) usual.optimizer = workload.tables.front().optimizer;
  keys.must("name", workload.name, "name of the workload, also of its results file");
  keys.may("description", workload.description, "a line for readers");
  keys.must("global_batch", workload.global_batch, "samples of a step, over all ranks", "samples");
  keys.at_least(1, "global_batch", workload.global_batch);
  keys.must("optimizer", usual.optimizer, "update rule of every table that names no other");
  keys.may("ids", workload.ids, "how ids are drawn, of all features");
  keys.may("plans", workload.plans, "planners or plan files of compare and predict without --plan");
  keys.may("replicate_rows", workload.replicate_rows, "tables of at most so many rows are small to mixed planners",
           "rows");
  keys.at_least(0, "replicate_rows", workload.replicate_rows);
  keys.unless(std::int64_t{0}, "tt_min_rows", workload.tt_min_rows,
              "tables of storage tt with fewer rows, after --scale, are dense", "rows");
  keys.at_least(0, "tt_min_rows", workload.tt_min_rows);
  keys.may("scale", workload.scale, "what the row counts of this file have been divided by; divides nothing");
  keys.at_least(1, "scale", workload.scale);
  keys.may("dense", workload.dense, "layers behind the embeddings, for --dense");
  keys.may_list("published_steps", workload.published_steps, "times that others published, for predict --published");
  keys.may("published_lookup", workload.published_lookup, "time of a lookup that others published");
  std::vector<TableEntry> tables = entries_of(workload.tables);
  keys.list("tables", tables, {usual, {}}, "the tables", usual.optimizer);
  std::vector<FeatureEntry> features = entries_of(workload.features, workload.tables, tables);
  keys.list("features", features, {}, "the lookups");
  if (!keys.reads()) return;
  workload.tables = tables_of(tables, keys.where());
  if (workload.tables.empty()) throw InputError(keys.where() + ": there are no tables");
  workload.features = features_of(features, tables, keys.where());
  if (workload.features.empty()) throw InputError(keys.where() + ": there are no features");
}

}  // namespace spec_keys

std::vector<SpecKey> described_spec() { return spec_keys::Keys::describe(Workload{}); }

namespace {

using spec_keys::Json;
using spec_keys::Keys;

Workload named_workload(const std::string& name_or_file) {
  if (!name_or_file.ends_with(".json")) {
    const auto& spec = choice_named(builtin_specs, "workload (or spec file ending in .json)", name_or_file);
    return workload_from_json(Json::parse(spec.text), "specs/" + name_or_file + ".json");
  }
  if (!std::filesystem::exists(name_or_file))
    throw InputError(
        fmt::format("{}: no such file; `shardmark workload new {}` writes one to edit", name_or_file, name_or_file));
  const auto text = file_text(name_or_file);
  if (!text) throw InputError(name_or_file + ": cannot be read");
  Workload workload;
  Keys::read_text(*text, name_or_file, workload);
  return workload;
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

std::string example_spec(const std::string& name) {
  const ExampleSpec& example = example_specs.front();
  std::string text(example.text);
  const std::string old = fmt::format("\"{}\"", example.name);
  return text.replace(text.find(old), old.size(), Json(name).dump());
}

std::vector<std::int64_t> rows_of_features(const Workload& workload) {
  std::vector<std::int64_t> rows;
  for (const Feature& feature : workload.features) rows.push_back(workload.tables[feature.table].rows);
  return rows;
}

std::vector<KeyRange> keys_of_features(const Workload& workload) {
  std::vector<KeyRange> keys;
  for (const Feature& feature : workload.features) keys.push_back(key_range_of(workload.tables[feature.table]));
  return keys;
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
    if (table.rows > 0) table.rows = (table.rows - 1) / divisor + 1;
    if (divisor > 1) table.tensor_train.row_shape.clear();
  }
  workload.scale *= divisor;
}

void keep_small_tables_dense(Workload& workload) {
  for (Table& table : workload.tables)
    if (table.rows < workload.tt_min_rows && storage_of(table).computes()) table.storage = Storage::dense;
}

void share_batch(Workload& workload, int ranks) {
  if (workload.batch_per_rank == 0) return;
  if (__builtin_mul_overflow(workload.batch_per_rank, std::int64_t{ranks}, &workload.global_batch))
    throw InputError(
        fmt::format("--batch-per-rank {}: {} ranks have more samples than 64 bits count; use a smaller one",
                    workload.batch_per_rank, ranks));
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
