// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/option_use.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "datasets/sample_source.hpp"
#include "reference/dense/dense_step.hpp"
#include "reference/storage.hpp"
#include "workloads/cases/dense_spec_of.hpp"

namespace shardmark::workloads {
namespace {

/// The storage whose tables read an option: "tt" of "tt.ranks".
std::string_view storage_name(const Option& option) {
  return std::string_view(option.name).substr(0, option.name.find('.'));
}

/// Whether any table has the storage that reads the option.
bool has_readers(const Option& option, const RunOptions& run) {
  return std::ranges::any_of(run.workload.tables,
                             [&](const Table& table) { return name_of(table.storage) == storage_name(option); });
}

/// Options of the pipeline that no case reads.
void require_async_use(const std::vector<Case>& cases, const GivenOption& given) {
  const bool bound = given.option->name == "staleness_bound";
  if (!bound && !given.option->name.starts_with("async_")) return;
  const auto ahead = [&](const Case& how) { return bound ? how.async.looks_up() : how.async.on(); };
  const auto by_threads = [&](const Case& how) {
    return ahead(how) && (given.option->name == "async_pool" || !how.async.inlined());
  };
  const auto reads = [&](const Case& how) {
    return by_threads(how) && (given.option->name != "async_order" || how.async.threads != 1);
  };
  if (std::ranges::any_of(cases, reads)) return;
  const std::string said = given.said(given.values.front());
  if (std::ranges::any_of(cases, by_threads))
    throw InputError(fmt::format(
        "{}: one thread completes its batches in the order of the input; use --async-threads 2 or more, or auto",
        said));
  if (std::ranges::any_of(cases, ahead))
    throw InputError(fmt::format("{}: a step prepares its batch itself; use --async-pool shared", said));
  throw InputError(fmt::format("{}: {}; use --async {}", said,
                               bound ? "no rows are looked up ahead" : "nothing is done ahead",
                               bound ? "rows or patched" : "ids, rows or patched"));
}

}  // namespace

namespace {

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

void check_optimizers(const RunOptions& run) {
  for (const Table& table : run.workload.tables) check_optimizer("table " + table.name, table.optimizer);
  if (has_layers(run.dense.kind))
    check_optimizer("dense model " + std::string(name_of(run.dense.kind)), run.dense.optimizer_of_weights());
}

void check_dense_options(const RunOptions& run) {
  const DenseKind kind = run.dense.kind;
  const bool layers = has_layers(kind);
  if (kind == DenseKind::none) return;
  if (run.exact && layers)
    throw InputError(fmt::format("exact: dense model {} is not exact in fp32; use --dense exact", name_of(kind)));
  const Workload& workload = run.workload;
  for (const Feature& feature : workload.features)
    if (feature.pooling == Pooling::none && workload.ids.ragged && run.data.file.empty())
      throw InputError(
          fmt::format("dense model {}: samples have different numbers of vectors of feature {}, which has "
                      "no pooling; use ids.ragged=false or pool it",
                      name_of(kind), feature.name));
  if (!layers) return;
  dense_spec_of(workload, kind);
  reference::check_dense_optimizer(run.dense.optimizer_of_weights());
}

std::vector<Case> without_unused_async(std::vector<Case> cases) {
  std::vector<Case> different;
  for (Case& how : cases) {
    if (!how.async.on()) how.async = {};
    if (how.async.inlined()) how.async = {.mode = how.async.mode, .pool = how.async.pool};
    if (!how.async.looks_up()) how.async.bound.reset();
    if (how.async.in_order()) how.async.order = AsyncOrder::input;
    const auto same = [name = how.name()](const Case& other) { return other.name() == name; };
    if (std::ranges::none_of(different, same)) different.push_back(std::move(how));
  }
  return different;
}

void require_use(const RunOptions& run, const std::vector<Case>& cases, const std::vector<GivenOption>& given) {
  const auto has_storage = [&](const Option& option) {
    return std::ranges::any_of(cases,
                               [&](const Case& how) { return has_readers(option, with_storage(run, how.storage)); });
  };
  for (const GivenOption& each : given) {
    require_async_use(cases, each);
    if ((each.option->group == OptionGroup::dense || each.option->name == "train") && !has_layers(run.dense.kind))
      throw InputError(
          fmt::format("{}: no layers are trained; use --dense mlp, dlrm or dcnv2", each.said(each.values.front())));
    if (each.option->name == "reading" && run.data.file.empty())
      throw InputError(fmt::format("{}: the ids come from no file; use --data FILE", each.said(each.values.front())));
    if (each.option->group == OptionGroup::ids && !run.data.file.empty())
      throw InputError(fmt::format("{}: the ids come from --data {}; leave one of them out",
                                   each.said(each.values.front()), run.data.file));
    if (each.option->group == OptionGroup::storage && !has_storage(*each.option))
      throw InputError(
          fmt::format("{}: no table{} has storage {}; use --storage {}", each.said(each.values.front()),
                      run.workload.tt_min_rows > 0 ? fmt::format(" of at least {} rows", run.workload.tt_min_rows) : "",
                      storage_name(*each.option), storage_name(*each.option)));
  }
}

bool has_use(const Option& option, const RunOptions& run) {
  const std::string& file = run.data.file;
  if (option.group == OptionGroup::ids) return file.empty();
  if (option.group == OptionGroup::dense) return has_layers(run.dense.kind);
  if (option.group == OptionGroup::data)
    return !file.empty() && (option.name == "data" || option.name == "reading" || !datasets::is_hdf5(file));
  if (option.group == OptionGroup::storage)
    return has_readers(option, run) || (option.name == "tt.min_rows" && run.workload.tt_min_rows > 0);
  return static_cast<bool>(option.get);
}

}  // namespace shardmark::workloads
