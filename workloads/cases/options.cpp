// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "comm/device_memory.hpp"
#include "datasets/cores_file.hpp"
#include "datasets/sample_source.hpp"
#include "reference/dense/dense_step.hpp"
#include "reference/number.hpp"
#include "reference/oracle.hpp"
#include "reference/storage.hpp"
#include "results/json_text.hpp"
#include "workloads/cases/case.hpp"
#include "workloads/cases/dense_spec_of.hpp"
#include "workloads/cases/key_births.hpp"
#include "workloads/cases/option_table.hpp"

namespace shardmark::workloads {
namespace {

using Json = nlohmann::ordered_json;

/// Sets learning rates to the nearest powers of two, so that lr * gradient keeps few bits.
void make_exact(Workload& workload) {
  for (Table& table : workload.tables) {
    if (!table.tensor_train.import_file.empty())
      throw InputError(
          fmt::format("exact: table {} begins with the cores of {}, whose products are not exact; leave one "
                      "of them out",
                      table.name, table.tensor_train.import_file));
    float& rate = table.optimizer.learning_rate;
    if (rate > 0.0F) rate = std::exp2(std::round(std::log2(rate)));
  }
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0, comma = 0; comma != text.npos; begin = comma + 1) {
    comma = text.find(',', begin);
    parts.push_back(text.substr(begin, comma - begin));
  }
  return parts;
}

/// Returns the given values, or the names of all where one is "all".
std::vector<std::string> values_of(const GivenOption& given) {
  std::vector<std::string> values;
  for (const std::string& text : given.values)
    if (text == "all" && given.option->several && !given.option->values.empty())
      for (const NamedValue& value : given.option->values) values.push_back(value.name);
    else
      values.push_back(text);
  return values;
}

void set_one(const GivenOption& given, const std::string& text, RunOptions& run, Case& config) {
  try {
    given.option->set(run, config, text);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", given.as_given(text), error.what()));
  }
}

/// Returns all of `cases` with each of the values.
std::vector<Case> each_with(const std::vector<Case>& cases, const GivenOption& given, RunOptions& run) {
  std::vector<Case> all;
  for (const Case& config : cases)
    for (const std::string& value : values_of(given)) set_one(given, value, run, all.emplace_back(config));
  return all;
}

}  // namespace

std::string NumberRule::text() const {
  const std::string or_word = word.empty() ? "" : fmt::format("{} or ", word);
  if (std::isfinite(most)) return fmt::format("{}a number from {} to {}", or_word, least, most);
  return fmt::format("{}a number {} {}", or_word, above ? "above" : "of at least", least);
}

std::string NumberRule::list_text() const {
  return fmt::format("{} or whole numbers of at least {} with commas between them, such as 8,16 (no brackets)", word,
                     least);
}

std::string Option::flag() const {
  std::string text = fmt::format("--{}", name);
  std::ranges::replace(text, '_', '-');
  return text;
}

std::string list_name_of(std::string_view what) {
  std::string plural = fmt::format("{}{}", what, what.ends_with('s') ? "" : "s");
  std::ranges::replace(plural, ' ', '-');
  return plural;
}

std::string Option::usual() const {
  const bool of_workload =
      group == OptionGroup::tables || group == OptionGroup::of_storage || group == OptionGroup::ids;
  if (!get || of_workload) return "";

  return results::text_of(get(RunOptions{}, Case{}));
}

GivenOption given_setting(const std::string& text, bool several) {
  const auto equals = text.find('=');
  if (equals == text.npos) throw InputError(fmt::format("--set {}: expected key=value", text));
  const Option& option = choice_named(options(), "key of --set", text.substr(0, equals));
  const std::string value = text.substr(equals + 1);
  return {&option, several && option.several ? parts_of(value) : std::vector{value}, "--set " + text.substr(0, equals)};
}

void set_options(RunOptions& run, std::vector<Case>& cases, const std::vector<GivenOption>& given) {
  for (const Option& option : options())
    if (option.get) run.usual.emplace(option.name, option.get(run, Case{}).dump());
  for (auto each = given.begin(); each != given.end(); ++each) {
    const bool again =
        std::any_of(each + 1, given.end(), [&](const auto& later) { return later.option == each->option; });
    if (again) continue;
    if (each->option->several)
      cases = each_with(cases, *each, run);
    else
      set_one(*each, each->values.front(), run, cases.front());
  }
  keep_small_tables_dense(run.workload);
  import_cores(run.workload);
  require_use(run, cases, given);
  check_nested_ids(run);
  check_dense_options(run);
  check_dense_math(cases);
  check_optimizers(run);
  if (std::ranges::any_of(cases, [](const Case& config) { return config.async != Async{}; }))
    cases = without_unused_async(std::move(cases));
  if (run.exact) make_exact(run.workload);
  expect_keys(run);
  check_dynamic_tables(run, cases);
}

void import_cores(Workload& workload) {
  for (Table& table : workload.tables) {
    TensorTrain& requested = table.tensor_train;
    if (requested.import_file.empty()) continue;
    datasets::DecomposedTable tt = datasets::read_cores(requested.import_file, table);
    const bool given = !requested.row_shape.empty() || !requested.dim_shape.empty() || !requested.ranks.empty() ||
                       requested.compression > 0.0;
    const TensorTrainShape& shape = tt.shape;
    if (given && tensor_train_shape(table) != shape)
      throw InputError(
          fmt::format("{}: its cores have another shape or other ranks than are given for table {}; leave "
                      "tt.row_shape, tt.dim_shape, tt.ranks and tt.compression out",
                      requested.import_file, table.name));
    requested.cores = shape.cores;
    requested.row_shape.assign(shape.p.begin(), shape.p.begin() + shape.cores);
    requested.dim_shape.assign(shape.q.begin(), shape.q.begin() + shape.cores);
    requested.ranks.assign(shape.r.begin() + 1, shape.r.begin() + shape.cores);
    requested.compression = 0.0;
    requested.imported = std::make_shared<const std::vector<std::vector<float>>>(std::move(tt.cores));
  }
}

void apply_settings(RunOptions& run, const std::vector<std::string>& assignments) {
  std::vector<GivenOption> given;
  for (const std::string& text : assignments) given.push_back(given_setting(text));
  std::vector<Case> cases(1);
  set_options(run, cases, given);
  run = with_storage(std::move(run), cases.front().storage);
}

Json case_options(const RunOptions& run, const Case& config, const placement::Plan& plan) {
  Json values = Json::object();
  for (const Option& option : options())
    if (option.group != OptionGroup::schedule && has_use(option, run)) values[option.name] = option.get(run, config);
  const Workload& workload = run.workload;
  values["groups"] =
      placement::count_groups(placement::group_of_tables(config.groups, plan, workload.tables, workload.features));
  values["wire_ids"] = name_of(placement::id_type(config.movement.wire_ids, plan, workload.tables));
  return values;
}

Json schedule_options(const RunOptions& run) {
  Json values = Json::object();
  for (const Option& option : options())
    if (option.group == OptionGroup::schedule) values[option.name] = option.get(run, Case{});
  return values;
}

std::vector<std::string> changed_options(const RunOptions& run, const Case& config) {
  std::vector<std::string> names;
  for (const Option& option : options()) {
    if (option.group == OptionGroup::schedule || !has_use(option, run)) continue;
    const auto usual = run.usual.find(option.name);
    if (usual != run.usual.end() && option.get(run, config).dump() != usual->second) names.emplace_back(option.name);
  }
  return names;
}

std::string Case::name() const {
  std::string name = fmt::format("{} {}", name_of(movement.transfer), exchange.name());
  const RunOptions run;
  for (const Option& option : options()) {
    if (!option.several || !option.get) continue;
    const Json value = option.get(run, *this);
    if (option.name != "transfer" && option.name != "exchange" && value != option.get(run, Case{}))
      name += fmt::format(", {} {}", option.name, results::text_of(value));
  }
  return name;
}

Seconds seconds_in(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 6> units{
      {{"", 1.0}, {"s", 1.0}, {"sec", 1.0}, {"m", 60.0}, {"min", 60.0}, {"h", 3600.0}}};
  const std::string_view number = text.substr(0, text.find_last_of("0123456789.") + 1);
  const auto given = std::ranges::find(units, text.substr(number.size()), &std::pair<std::string_view, double>::first);
  const double unit = given == units.end() ? NAN : given->second;
  const auto count = number_in<double>(number);
  if (!count || !std::isfinite(*count * unit) || *count <= 0.0)
    throw InputError(fmt::format("'{}' is not a duration above 0 such as 90s or 2m", text));
  return Seconds(*count * unit);
}

RunOptions with_storage(RunOptions run, std::optional<Storage> storage) {
  if (storage)
    for (Table& table : run.workload.tables) table.storage = *storage;
  keep_small_tables_dense(run.workload);
  return run;
}

std::int64_t RunOptions::most_batches() const {
  constexpr std::int64_t most_of_all = 64;
  const std::int64_t timed = batches > 0 ? batches : std::min(most_of_all, steps.value_or(most_of_all));
  return std::max(timed, checked_steps);
}

std::int64_t RunOptions::most_trained_steps() const {
  return trains() ? trained_steps.value_or(trained_with_stale_rows) : 0;
}

RowValues RunOptions::row_values() const {
  RowValues values{.seed = seed, .scale = 0.05F};
  if (!exact) return values;
  // One unit for all tables: the finest that any of them needs.
  values.unit = gradients().unit;
  for (const Table& table : workload.tables)
    if (table.optimizer.learning_rate > 0.0F)
      values.unit = std::min(values.unit, gradients().unit * table.optimizer.learning_rate);
  return values;
}

namespace {

/// Returns whether any table has the storage that reads the option.
bool has_readers(const Option& option, const RunOptions& run) {
  return std::ranges::any_of(run.workload.tables,
                             [&](const Table& table) { return name_of(table.storage) == option.storage(); });
}

/// Throws InputError for options of the pipeline that no case reads.
void require_async_use(const std::vector<Case>& cases, const GivenOption& given) {
  const bool bound = given.option->name == "staleness_bound";
  if (!bound && !given.option->name.starts_with("async_")) return;
  const auto prefetched = [&](const Case& config) { return bound ? config.async.looks_up() : config.async.on(); };
  const auto by_threads = [&](const Case& config) {
    return prefetched(config) && (given.option->name == "async_pool" || !config.async.inlined());
  };
  const auto reads = [&](const Case& config) {
    return by_threads(config) && (given.option->name != "async_order" || config.async.threads != 1);
  };
  if (std::ranges::any_of(cases, reads)) return;
  const std::string option = given.as_given(given.values.front());
  if (std::ranges::any_of(cases, by_threads))
    throw InputError(fmt::format(
        "{}: one thread completes its batches in the order of the input; use --async-threads 2 or more, or auto",
        option));
  if (std::ranges::any_of(cases, prefetched))
    throw InputError(fmt::format("{}: a step prepares its batch itself; use --async-pool shared", option));
  throw InputError(fmt::format("{}: {}; use --async {}", option,
                               bound ? "no rows are prefetched" : "nothing is prefetched",
                               bound ? "rows or patched" : "ids, rows or patched"));
}

void check_optimizer(const std::string& whose, const Optimizer& optimizer) {
  if (optimizer.kind == OptimizerKind::ftrl && optimizer.learning_rate == 0.0F)
    throw InputError(
        fmt::format("{}: ftrl divides by its learning rate, which is 0; use one above 0, or optimizer none "
                    "where nothing is to be learnt",
                    whose));
  const bool begins_above_0 =
      (optimizer.kind == OptimizerKind::adagrad || optimizer.kind == OptimizerKind::rowwise_adagrad) &&
      optimizer.initial_accumulator > 0.0F;
  if (is_linear(optimizer.kind) || optimizer.kind == OptimizerKind::ftrl || begins_above_0) return;
  if (optimizer.epsilon == 0.0F)
    throw InputError(fmt::format("{}: with epsilon 0, {} divides 0 by 0 where a gradient is 0; use one above 0", whose,
                                 name_of(optimizer.kind)));
}

}  // namespace

void check_dense_math(const std::vector<Case>& cases) {
  const bool on_gpus = comm::built_for_gpus();
  for (const Case& config : cases)
    if (config.dense_math == DenseMath::tf32 && !on_gpus)
      throw InputError(
          "--dense-math tf32: this build computes on processors, which multiply in fp32; use a build for GPUs, such as "
          "that of preset cuda");
}

void check_optimizers(const RunOptions& run) {
  for (const Table& table : run.workload.tables) check_optimizer("table " + table.name, table.optimizer);
  if (has_layers(run.dense.kind))
    check_optimizer("dense model " + std::string(name_of(run.dense.kind)), run.dense.optimizer_of_weights());
}

void expect_keys(RunOptions& run) {
  Workload& workload = run.workload;
  check_births(workload);
  const bool draws = run.data.file.empty();
  if (!draws && run.data.id_rule == datasets::IdRule::raw && !datasets::is_hdf5(run.data.file))
    for (Table& table : workload.tables) table.any_key = true;
  const std::int64_t batches = std::max(run.most_batches(), run.most_trained_steps());
  for (std::size_t t = 0; t < workload.tables.size(); ++t) {
    Table& table = workload.tables[t];
    if (!table.any_key) continue;
    const std::int64_t capacity = table.dynamic.eviction.capacity;
    if (table.rows == 0) table.rows = capacity;
    if (table.rows == 0)
      throw InputError(fmt::format(
          "table {}: rows -1, and nothing says how many keys to expect; use --capacity N with --evict, or give "
          "\"keys\" "
          "in the spec",
          table.name));
    const KeyBirths births = births_of(workload, static_cast<std::int64_t>(t));
    const std::int64_t beyond_expectation = table.rows / 8 + 64;
    table.room = draws ? births.most_keys(batches) : table.rows + beyond_expectation;
    // A bucket makes room at the end of a step, which itself may bring as many rows as it has ids.
    if (capacity > 0) table.room = std::min(table.room, capacity + births.places);
  }
}

void check_dynamic_tables(const RunOptions& run, const std::vector<Case>& cases) {
  for (const Case& config : cases) {
    const Workload& workload = with_storage(run, config.storage).workload;
    for (std::size_t t = 0; t < workload.tables.size(); ++t) {
      const Table& table = workload.tables[t];
      const Eviction& eviction = table.dynamic.eviction;
      if (!storage_of(table).comes_and_goes) continue;
      try {
        check_capacity(eviction);
      } catch (const InputError& error) {
        throw InputError(fmt::format("table {}: {}", table.name, error.what()));
      }
      if (eviction.kind == EvictionKind::l2 &&
          !reference::is_bit_exact(workload.tables, workload.features, static_cast<std::int64_t>(t), run.row_values(),
                                   config.movement.wire))
        throw InputError(
            fmt::format("table {}: evict {} goes by values, whose last bits differ between plans unless all sums are "
                        "exact; use exact=true, sgd, sum pooling and fp32 on the wire, or another evict",
                        table.name, text_of(eviction)));
    }
  }
}

void check_nested_ids(const RunOptions& run) {
  for (const Feature& feature : run.workload.features) {
    const std::string whose = "feature " + feature.name;
    check_segments(feature, whose);
    if (feature.segments > 0 && !run.data.file.empty())
      throw InputError(fmt::format("{} has segments, which data files do not have; leave data or segments out", whose));
  }
}

void check_dense_options(const RunOptions& run) {
  const DenseKind kind = run.dense.kind;
  const bool layers = has_layers(kind);
  if (kind == DenseKind::none) return;
  if (run.exact && layers)
    throw InputError(fmt::format("exact: dense model {} is not exact in fp32; use --dense exact", name_of(kind)));
  const Workload& workload = run.workload;
  for (const Feature& feature : workload.features)
    if (!has_bag_per_sample(feature) && workload.ids.ragged && run.data.file.empty())
      throw InputError(fmt::format(
          "dense model {}: samples have different numbers of vectors of feature {}, which has {}; use ids.ragged=false "
          "or {}",
          name_of(kind), feature.name, feature.pooling == Pooling::none ? "no pooling" : "segment_rank 1",
          feature.pooling == Pooling::none ? "pool it" : "segment_rank 0"));
  if (!layers) return;
  dense_spec_of(workload, kind);
  reference::check_dense_optimizer(run.dense.optimizer_of_weights());
}

std::vector<Case> without_unused_async(std::vector<Case> cases) {
  std::vector<Case> different;
  for (Case& config : cases) {
    if (!config.async.on()) config.async = {};
    if (config.async.inlined()) config.async = {.mode = config.async.mode, .pool = config.async.pool};
    if (!config.async.looks_up()) config.async.bound.reset();
    if (config.async.in_order()) config.async.order = AsyncOrder::input;
    const auto same = [name = config.name()](const Case& other) { return other.name() == name; };
    if (std::ranges::none_of(different, same)) different.push_back(std::move(config));
  }
  return different;
}

void require_use(const RunOptions& run, const std::vector<Case>& cases, const std::vector<GivenOption>& given) {
  const auto has_storage = [&](const Option& option) {
    return std::ranges::any_of(
        cases, [&](const Case& config) { return has_readers(option, with_storage(run, config.storage)); });
  };
  for (const GivenOption& each : given) {
    require_async_use(cases, each);
    if (each.option->group == OptionGroup::dense && !has_layers(run.dense.kind))
      throw InputError(
          fmt::format("{}: no layers are trained; use --dense mlp, dlrm or dcnv2", each.as_given(each.values.front())));
    if (each.option->name == "train" && !run.trains())
      throw InputError(fmt::format(
          "{}: no layers are trained; use --dense mlp, dlrm or dcnv2, or --save FOLDER for the tables alone",
          each.as_given(each.values.front())));
    if ((each.option->name == "save_every" || each.option->name == "save_kind" || each.option->name == "save_mode" ||
         (each.option->name == "fault" && run.fault == Fault::crash)) &&
        run.save.empty())
      throw InputError(fmt::format("{}: nothing is saved; use --save FOLDER", each.as_given(each.values.front())));
    if (each.option->name == "disk_ceiling" && run.save.empty() && run.restore.empty())
      throw InputError(fmt::format("{}: nothing is saved or restored; use --save FOLDER or --restore FOLDER",
                                   each.as_given(each.values.front())));
    if (each.option->name == "reading" && run.data.file.empty())
      throw InputError(
          fmt::format("{}: the ids come from no file; use --data FILE", each.as_given(each.values.front())));
    if (each.option->group == OptionGroup::ids && !run.data.file.empty())
      throw InputError(fmt::format("{}: the ids come from --data {}; leave one of them out",
                                   each.as_given(each.values.front()), run.data.file));
    if (each.option->group == OptionGroup::of_storage && !has_storage(*each.option))
      throw InputError(fmt::format("{}: no table has storage {}{}; use --storage {}",
                                   each.as_given(each.values.front()), each.option->storage(),
                                   run.workload.tt_min_rows > 0 && each.option->storage() == "tt"
                                       ? fmt::format(" and at least {} rows", run.workload.tt_min_rows)
                                       : "",
                                   each.option->storage()));
  }
}

bool has_use(const Option& option, const RunOptions& run) {
  if (!option.get) return false;
  const std::string& file = run.data.file;
  if (option.name == "ids.new" || option.name == "ids.half_life")
    return file.empty() && has_any_keys(run.workload.tables);
  if (option.group == OptionGroup::ids) return file.empty();
  if (option.group == OptionGroup::dense) return has_layers(run.dense.kind);
  if (option.group == OptionGroup::data)
    return !file.empty() && (option.name == "data" || option.name == "reading" || !datasets::is_hdf5(file));
  if (option.group == OptionGroup::of_storage)
    return has_readers(option, run) || (option.name == "tt.min_rows" && run.workload.tt_min_rows > 0);
  return true;
}

}  // namespace shardmark::workloads
