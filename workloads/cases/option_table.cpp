// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/option_table.hpp"

#include "reference/storage.hpp"
#include "workloads/cases/option_entry.hpp"

namespace shardmark::workloads {
namespace {

constexpr NumberRule positive{.least = 1.0};
constexpr NumberRule auto_or_positive{.least = 1.0, .word = "auto"};

/// Makes --wire, which sets both directions at once.
Option wire_both_directions() {
  Option option =
      option_of(OptionGroup::movement, "wire", "value type of vectors and gradients on the wire", &WireTypes::forward);
  option.get = nullptr;
  option.sets = {"wire_forward", "wire_backward"};
  option.set = [](RunOptions&, Case& config, const std::string& text) {
    config.movement.wire.forward = config.movement.wire.backward = named<ValueType>(text);
  };
  return option;
}

Option scale() {
  Option option =
      option_of(OptionGroup::tables, "scale", "divide the row counts of the tables, such as 1/64", &Workload::scale);
  option.value_name = "1/N";
  option.valid = "1/N or N, N a whole number of at least 1";
  option.set = [](RunOptions& run, Case&, const std::string& text) { scale_rows(run.workload, parse_scale(text)); };
  return option;
}

/// Makes the option of the storage of all tables; a case that has one hides what the workload says.
Option storage() {
  Option option =
      option_of(OptionGroup::tables, "storage", "what stands for the rows of every table in memory", &Table::storage);
  option.several = true;
  option.set = [](RunOptions&, Case& config, const std::string& text) { config.storage = named<Storage>(text); };
  option.get = [of_tables = option.get](const RunOptions& run, const Case& config) {
    return config.storage ? option_values::Json(name_of(*config.storage)) : of_tables(run, config);
  };
  return option;
}

/// Makes --async, whose value `on` is DeepRec's.
Option async() {
  Option option = option_of(OptionGroup::movement, "async",
                            "what of a step is done while the steps before it are taken (on: rows)", &Async::mode);
  option.set = [](RunOptions&, Case& config, const std::string& text) {
    config.async.mode = text == "on" ? AsyncMode::rows : named<AsyncMode>(text);
  };
  return option;
}

/// Makes --batch-per-rank, from which the global batch follows once the ranks are known.
Option batch_per_rank() {
  Option option = option_of(OptionGroup::tables, "batch_per_rank", "samples per step of each rank, in place of batch",
                            &Workload::batch_per_rank, positive);
  option.get = nullptr;
  option.sets = {"batch"};
  return option;
}

/// Wraps an option of dynamic tables.
Option of_dynamic(Option option) {
  option.of = name_of(Storage::dynamic);
  return option;
}

/// Wraps an option of which 0 would stop every batch: rule says why.
Option above_zero(Option option, std::string_view rule) {
  option.set = [set = option.set, rule](RunOptions& run, Case& config, const std::string& text) {
    if (number_in<std::int64_t>(text) == 0) throw InputError(std::string(rule));
    set(run, config, text);
  };
  return option;
}

constexpr std::string_view drift_values = "none, or a share from 0 to 1 and a number of batches, such as 0.1/8";

/// Makes --drift SHARE/BATCHES.
Option drift() {
  Option option =
      option_of(OptionGroup::ids, "drift",
                "share of the ids that exchange their rows, hot or not, and every how many batches", &IdSpec::shift);
  option.value_name = "SHARE/N";
  option.valid = drift_values;
  option.number.reset();
  option.examples = {"none", "0.1/8", "0.5/1"};
  option.set = [](RunOptions& run, Case&, const std::string& text) {
    Drift& drift = run.workload.ids.drift;
    drift = {};
    if (text == "none") return;
    const std::size_t slash = text.find('/');
    const double share = number_in<double>(std::string_view(text).substr(0, slash)).value_or(-1.0);
    const std::int64_t every = slash == text.npos ? 0 : whole_number_in(text.substr(slash + 1)).value_or(0);
    if (!(share >= 0.0 && share <= 1.0) || every < 1)
      throw InputError(fmt::format("'{}' is not {}", text, drift_values));
    drift = {share, every};
  };
  option.get = [](const RunOptions& run, const Case&) {
    const Drift& drift = run.workload.ids.drift;
    return option_values::Json(drift.on() ? fmt::format("{}/{}", drift.share, drift.every) : "none");
  };
  return option;
}

/// Makes --ids, another name of --id-rule, which `data convert` has too.
Option ids_of_data() {
  Option option = option_of(OptionGroup::data, "ids", "the same as id_rule", &DataOptions::id_rule);
  option.get = nullptr;
  option.sets = {"id_rule"};
  return option;
}

/// Makes --fault, whose value crash has a number.
Option fault() {
  Option option =
      option_of(OptionGroup::run, "fault",
                "a defect to commit on purpose, to test the check, the watchdog and checkpoints", &RunOptions::fault);
  option.set = [set = option.set](RunOptions& run, Case& config, const std::string& text) {
    const auto at = text.starts_with("crash@") ? text.find('@') : text.npos;
    set(run, config, text.substr(0, at));
    run.crash_at = 1;
    if (at != text.npos) option_values::read(text.substr(at + 1), positive, run.crash_at);
  };
  option.get = [get = option.get](const RunOptions& run, const Case& config) {
    if (run.fault != Fault::crash || run.crash_at == 1) return get(run, config);
    return option_values::Json(fmt::format("crash@{}", run.crash_at));
  };
  return option;
}

/// Makes an option whose value is a folder of checkpoints.
Option folder(std::string_view name, std::string_view description, std::string RunOptions::*field) {
  Option option = option_of(OptionGroup::schedule, name, description, field);
  option.value_name = "FOLDER";
  option.valid = "a folder, or none";
  option.set = [=](RunOptions& run, Case&, const std::string& text) { run.*field = text == "none" ? "" : text; };
  option.get = [=](const RunOptions& run, const Case&) {
    return option_values::Json((run.*field).empty() ? "none" : run.*field);
  };
  return option;
}

std::vector<Option> table() {
  using enum OptionGroup;
  return {
      option_of(movement, "transfer", "what travels for row-split tables", &placement::Movement::transfer),
      option_of(movement, "exchange", "how it travels (:N is a number that can be given, and its default)",
                &Case::exchange),
      wire_both_directions(),
      option_of(movement, "wire_forward", "value type of vectors alone", &WireTypes::forward),
      option_of(movement, "wire_backward", "value type of gradients alone", &WireTypes::backward),
      option_of(movement, "wire_ids", "type of ids on the wire", &placement::Movement::wire_ids),
      option_of(movement, "dedup", "where repeated ids become one when rows travel one by one",
                &placement::Movement::dedup),
      option_of(movement, "groups",
                "groups of tables whose lookups and exchanges overlap (table stands for one per table)",
                &placement::TableGroups::groups, {.least = 1.0, .word = "table"}),
      option_of(movement, "group_balance", "what groups of tables have in equal measure",
                &placement::TableGroups::balance),
      option_of(movement, "replicated_gradients", "how gradients of data_parallel tables are summed over the ranks",
                &placement::Movement::replicated_gradients),
      async(),
      above_zero(option_of(movement, "async_threads",
                           "threads that prepare batches; auto: time to prepare one / time of a step without that",
                           &Async::threads, auto_or_positive),
                 "without a thread no batch is prepared; use at least 1, time to prepare a batch / time of a step, or "
                 "auto"),
      above_zero(option_of(movement, "async_capacity", "prepared batches that may wait; auto: as many as threads",
                           &Async::capacity, auto_or_positive),
                 "without a place no prepared batch can wait for its step; use at least 1, or auto for as many as "
                 "async_threads"),
      option_of(movement, "async_order", "which of the prepared batches a step takes", &Async::order),
      option_of(movement, "async_pool", "who prepares batches, and on which cores", &Async::pool),
      option_of(movement, "staleness_bound", "updates that a prefetched row may lack; auto: async_capacity + 1",
                &Async::bound, {.word = "auto"}),

      option_of(tables, "batch", "samples per step over all ranks", &Workload::global_batch, positive),
      batch_per_rank(),
      scale(),
      option_of(tables, "dim", "dim of every table", &Table::dim, positive),
      option_of(tables, "dtype", "how every table keeps its values", &Table::value_type),
      storage(),
      option_of(tables, "stochastic_rounding",
                "whether new values of fp16 and bf16 tables are rounded at random, without bias",
                &Table::stochastic_rounding),
      option_of(tables, "pooling", "how the rows of a bag become one vector, for every feature", &Feature::pooling),
      option_of(tables, "replicate_rows", "tables of at most so many rows are small to the mixed planners",
                &Workload::replicate_rows),
      option_of(tables, "optimizer", "how the rows of every table are updated", &Optimizer::kind),
      option_of(tables, "learning_rate", "learning rate of every table", &Optimizer::learning_rate),
      option_of(tables, "weight_decay", "weight decay of every table", &Optimizer::weight_decay),
      option_of(tables, "weight_decay_mode", "what weight decay is added to", &Optimizer::weight_decay_mode),
      option_of(tables, "epsilon", "epsilon of every optimizer", &Optimizer::epsilon),
      option_of(tables, "initial_accumulator", "initial sum of g^2 (adagrad, rowwise_adagrad, ftrl)",
                &Optimizer::initial_accumulator),
      option_of(tables, "momentum", "momentum of momentum and nesterov", &Optimizer::momentum),
      option_of(tables, "decay", "decay of the mean of g^2 (rmsprop)", &Optimizer::decay),
      option_of(tables, "beta1", "decay of the mean of g (adam, rowwise_adam, lamb)", &Optimizer::beta1),
      option_of(tables, "beta2", "decay of the mean of g^2 (adam, rowwise_adam, lamb)", &Optimizer::beta2),
      option_of(tables, "beta", "beta of ftrl", &Optimizer::beta),
      option_of(tables, "l1", "l1 regularization of ftrl", &Optimizer::l1),
      option_of(tables, "l2", "l2 regularization of ftrl", &Optimizer::l2),

      option_of(of_storage, "tt.min_rows", "tables of fewer rows stay dense", &Workload::tt_min_rows),
      option_of(of_storage, "tt.cores", "cores of each table", &TensorTrain::cores, {.least = 2.0}),
      option_of(of_storage, "tt.row_shape", "slices of each core; their product is at least the rows",
                &TensorTrain::row_shape, auto_or_positive),
      option_of(of_storage, "tt.dim_shape", "columns of each core; their product is the dim", &TensorTrain::dim_shape,
                auto_or_positive),
      option_of(of_storage, "tt.ranks", "ranks between cores, or one for all; auto: by compression, or 32",
                &TensorTrain::ranks, auto_or_positive),
      option_of(of_storage, "tt.compression", "least elements of a table per element of its cores, for ranks",
                &TensorTrain::compression, {.above = true, .word = "none"}),
      option_of(of_storage, "tt.initializer", "how the entries of cores are drawn", &TensorTrain::initializer),
      option_of(of_storage, "tt.variance", "variance of a table's entries (initializer scaled); auto: as dense tables",
                &TensorTrain::variance, {.above = true, .word = "auto"}),
      option_of(of_storage, "tt.import", "cores to begin with, from `shardmark data tensor-train`",
                &TensorTrain::import_file),
      option_of(of_storage, "tt.direction", "which products of neighbouring cores rows share", &TensorTrain::direction),
      option_of(of_storage, "tt.slice_sums", "in which order gradients of a slice are added", &TensorTrain::slice_sums),
      option_of(of_storage, "tt.fused_update",
                "whether slices are updated as their gradients are summed, instead of from stored gradients",
                &TensorTrain::fused_update),
      option_of(of_storage, "tt.workspace_mib", "most MiB of intermediate products per rank",
                &TensorTrain::workspace_mib, positive),
      option_of(of_storage, "tt.cache_rows", "decompressed rows that are kept per table", &RowCache::rows,
                {.least = 1.0, .word = "none"}),
      option_of(of_storage, "tt.count_slots", "rows that are counted beside the cached ones; auto: twice cache_rows",
                &RowCache::count_slots, {.least = 1.0, .word = "auto"}),
      option_of(of_storage, "tt.cache_writes", "what becomes of gradients of cached rows", &RowCache::writes),
      option_of(of_storage, "tt.populate_every", "steps from one choice of cached rows to the next",
                &RowCache::populate_every, positive),

      of_dynamic(
          option_of(of_storage, "admit", "which new keys get a row (numbers may be others)", &DynamicRules::admission)),
      of_dynamic(option_of(of_storage, "evict", "which rows go at the end of a step (numbers may be others)",
                           &DynamicRules::eviction)),
      of_dynamic(option_of(of_storage, "capacity", "most rows of every table, which evict keeps to",
                           &Eviction::capacity, {.least = key_buckets, .word = "none"})),
      of_dynamic(option_of(of_storage, "absent", "what a key reads that has no row", &DynamicRules::absent)),

      option_of(ids, "hotness", "ids per sample of every feature", &Feature::hotness),
      option_of(ids, "segments", "segments of the ids of a sample of every feature; none: ids are not nested",
                &Feature::segments, {.least = 1.0, .word = "none"}),
      option_of(ids, "segment_rank", "what is a bag: 0 the sample, 1 each of its segments", &Feature::segment_rank),
      option_of(ids, "ids.distribution", "how ids are drawn", &IdSpec::distribution),
      option_of(ids, "ids.alpha", "exponent of the power law", &IdSpec::alpha),
      option_of(ids, "ids.ragged", "whether samples have 0 to 2 x hotness ids", &IdSpec::ragged),
      option_of(ids, "ids.shuffled", "whether hot ids are scattered over the table", &IdSpec::shuffled),
      option_of(ids, "ids.weighted", "whether there is a weight per id", &IdSpec::weighted),
      option_of(ids, "ids.shift", "rows by which ids move from one batch to the next, modulo the rows", &IdSpec::shift),
      drift(),
      option_of(ids, "overlap", "share of the distinct rows of a batch that the batch before has too; law: as drawn",
                &IdSpec::overlap, {.word = "law", .most = 1.0}),
      option_of(ids, "ids.new",
                "share of the keys that a batch can name which none has named before, of tables of rows -1",
                &IdSpec::fresh, {.most = 1.0}),
      option_of(ids, "ids.half_life",
                "batches after which half of the keys of tables of rows -1 have died, and others are hot",
                &IdSpec::half_life, {.least = 1.0, .word = "none"}),

      option_of(run, "dense", "the model behind the embeddings, with the layers of the workload's spec",
                &DenseOptions::kind),
      option_of(dense, "dense_optimizer", "how the weights of layers are updated", &DenseOptions::optimizer),
      option_of(dense, "dense_learning_rate", "learning rate of the weights of layers", &DenseOptions::learning_rate),
      option_of(dense, "dense_math", "how the products of layers are computed", &Case::dense_math),

      option_of(data, "data", "samples from Criteo TSV (.gz, .zst) or from what `shardmark data convert` made",
                &DataOptions::file),
      option_of(data, "id_rule", "how the values of a TSV file become ids", &DataOptions::id_rule),
      ids_of_data(),
      option_of(data, "min_count", "count below which values share id 1 (id rule frequency)", &DataOptions::min_count,
                positive),
      option_of(data, "malformed", "what happens to malformed lines of a TSV file", &DataOptions::malformed),
      option_of(data, "reading", "when the batches of timed steps are read", &DataOptions::reading),

      option_of(run, "batches",
                "different global batches that the timed steps rotate through; auto: until their rows leave the caches",
                &RunOptions::batches, {.least = 1.0, .word = "auto"}),
      option_of(run, "bounds_check", "what happens to ids outside their table", &RunOptions::bounds_check),
      option_of(run, "exact", "values whose fp32 sums are exact, so that sgd with sum pooling must be bit-equal",
                &RunOptions::exact),
      fault(),

      option_of(schedule, "seed", "seed of tables, ids and gradients", &RunOptions::seed),
      option_of(schedule, "steps", "timed steps per case, or until the median is known to 2.5 % (auto)",
                &RunOptions::steps, {.least = 1.0, .word = "auto"}),
      option_of(schedule, "seconds", "most time per case (steps auto, no budget)", &RunOptions::seconds,
                {.above = true}),
      option_of(schedule, "budget", "most time for the whole measurement, all cases and their checks together",
                &RunOptions::budget, {.word = "none"}),
      option_of(
          schedule, "train",
          "steps that each case takes anew for its loss and AUC, from its first weights on and each on new samples; "
          "auto: 128 where rows before layers may be stale, else 32 of the first case of each dense_math",
          &RunOptions::trained_steps, {.word = "auto"}),
      folder("save", "save checkpoints of the steps of --train, of the latest and the one before", &RunOptions::save),
      option_of(schedule, "save_every", "steps from one checkpoint to the next; end: after the last step alone",
                &RunOptions::save_every, {.least = 1.0, .word = "end"}),
      option_of(schedule, "save_kind", "which rows checkpoints have", &RunOptions::save_kind),
      option_of(schedule, "save_mode", "whether training waits for checkpoints", &RunOptions::save_mode),
      folder("restore",
             "let the steps of --train follow a checkpoint, or the latest in a folder of --save, on any ranks and plan",
             &RunOptions::restore),
      option_of(schedule, "disk_ceiling",
                "how fast files of the same bytes are written and synced, or read, right behind saves and restores",
                &RunOptions::disk_ceiling),
      option_of(
          schedule, "check",
          "steps to compare with the serial reference first; after timing the batches that were timed, as time allows",
          &RunOptions::checked_steps, {.least = 1.0, .word = "off"}),
  };
}

std::vector<Option>& mutable_options() {
  static std::vector<Option> all = table();
  return all;
}

}  // namespace

const std::vector<Option>& options() { return mutable_options(); }

AddedOption::AddedOption(Option option) { mutable_options().push_back(std::move(option)); }
AddedOption::~AddedOption() { mutable_options().pop_back(); }

}  // namespace shardmark::workloads
