// SPDX-License-Identifier: Apache-2.0
#include "workloads/checkpoint/run_facts.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "datasets/checkpoint/manifest.hpp"
#include "datasets/hdf5.hpp"
#include "reference/error.hpp"
#include "reference/storage.hpp"
#include "results/json_text.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/tables/storages.hpp"

namespace shardmark::workloads {
namespace {

using Json = nlohmann::ordered_json;

Json facts_of(const Table& table) {
  Json facts{{"name", table.name},
             {"rows", table.rows},
             {"dim", table.dim},
             {"storage", name_of(table.storage)},
             {"value_type", name_of(table.value_type)},
             {"stochastic_rounding", table.stochastic_rounding},
             {"optimizer", to_json(table.optimizer)}};
  if (const auto describe = maker_of(table).describe_parts) facts.update(describe(table).attributes);
  if (storage_of(table).comes_and_goes)
    facts["dynamic"] = {{"admit", text_of(table.dynamic.admission)},
                        {"evict", text_of(table.dynamic.eviction)},
                        {"capacity", table.dynamic.eviction.capacity},
                        {"absent", name_of(table.dynamic.absent)},
                        {"any_key", table.any_key},
                        {"min_key", table.any_key ? table.keys.first : 0},
                        {"max_key", table.any_key ? table.keys.last() : table.rows - 1}};
  return facts;
}

/// Returns the options of which a step depends on, beside tables, features and layers.
Json options_of(const RunOptions& run) {
  Json values = Json::object();
  for (const Option& option : options()) {
    const bool of_ids = option.group == OptionGroup::ids;
    const bool others = option.name == "batch" || option.name == "seed" || option.name == "exact" ||
                        option.name == "dense" || option.name == "id_rule" || option.name == "min_count";
    if ((of_ids || others) && has_use(option, run)) values[option.name] = option.get(run, Case{});
  }
  return values;
}

std::string text_of(const Json& value) { return value.is_structured() ? value.dump() : results::text_of(value); }

/// Returns ": KEY THERE there and HERE here" of the first key of two objects that differs; empty where none does.
std::string difference(const Json& there, const Json& here) {
  const Json none = "none";
  for (const auto& [key, value] : here.items()) {
    const Json& other = there.contains(key) ? there.at(key) : none;
    if (other == value) continue;
    if (other.is_object() && value.is_object())
      if (const std::string inner = difference(other, value); !inner.empty()) return fmt::format("{} {}", key, inner);
    return fmt::format("{} {} there and {} here", key, text_of(other), text_of(value));
  }
  for (const auto& [key, value] : there.items())
    if (!here.contains(key)) return fmt::format("{} {} there and none here", key, text_of(value));
  return "";
}

}  // namespace

Json run_facts(const RunOptions& options, const placement::Plan& plan, std::int64_t step) {
  const Workload& workload = options.workload;
  const Json spec = to_json(workload);
  Json facts{{"workload", workload.name},
             {"plan", plan.name},
             {"ranks", plan.ranks},
             {"samples", step * workload.global_batch},
             {"data", options.data.file},
             {"tables", Json::array()},
             {"features", spec.at("features")},
             {"dense", Json::object()},
             {"options", options_of(options)}};
  for (const Table& table : workload.tables) facts["tables"].push_back(facts_of(table));
  if (has_layers(options.dense.kind))
    facts["dense"] = {{"layers", spec.at("dense")}, {"optimizer", to_json(options.dense.optimizer_of_weights())}};
  return facts;
}

void require_same_run(const Json& there, const Json& here, const std::string& checkpoint) {
  const auto refuse = [&](const std::string& what) {
    throw InputError(
        fmt::format("{}: is of another model: {}; restore it with the workload and options of the run that "
                    "saved it (shardmark checkpoint show {})",
                    checkpoint, what, checkpoint));
  };
  const auto named = [](const Json& tables, const Json& name) {
    const auto found =
        std::find_if(tables.begin(), tables.end(), [&](const Json& each) { return each["name"] == name; });
    return found == tables.end() ? nullptr : &*found;
  };
  for (const Json& table : here.at("tables")) {
    const Json* const other = named(there.at("tables"), table["name"]);
    const std::string whose = fmt::format("table {}", table["name"].get<std::string>());
    if (other == nullptr) refuse(whose + " is not there");
    if (const std::string what = difference(*other, table); !what.empty()) refuse(fmt::format("{}: {}", whose, what));
  }
  for (const Json& table : there.at("tables"))
    if (named(here.at("tables"), table["name"]) == nullptr)
      refuse(fmt::format("table {} is not here", table["name"].get<std::string>()));
  if (there.at("features") != here.at("features")) refuse("its features are others");
  for (const char* what : {"dense", "options"})
    if (const std::string text = difference(there.at(what), here.at(what)); !text.empty()) refuse(text);
}

namespace {

/// Throws InputError where rows cannot be kept as they are while steps update them.
void require_kept(const RunOptions& options) {
  constexpr const char* remedy = "use --save-mode stop";
  for (const Table& table : options.workload.tables)
    if (!storage_of(table).keeps_rows)
      throw InputError(
          fmt::format("--save-mode behind: table {} has storage {}, whose rows are not kept for a save; {}", table.name,
                      name_of(table.storage), remedy));
  if (!host_reaches_arrays)
    throw InputError(fmt::format("--save-mode behind: rows lie in the memory of a GPU; {}", remedy));
  if (options.data.reading == DataReading::steps && !datasets::hdf5::is_threadsafe())
    throw InputError(fmt::format(
        "--save-mode behind: steps read --data while parts are written, and this HDF5 takes one thread at a "
        "time; {}, or --reading before",
        remedy));
}

}  // namespace

void require_checkpoints(const RunOptions& options, const placement::Plan& plan) {
  if (!options.restore.empty()) {
    const std::string folder = datasets::chain_of(options.restore).back();
    const datasets::Manifest manifest = datasets::read_manifest(folder);
    require_same_run(manifest.run, run_facts(options, plan, manifest.step), folder);
    if (options.trained_steps && *options.trained_steps <= manifest.step)
      throw InputError(
          fmt::format("--restore {}: {} steps have been taken there, and --train {} asks for no more; use a "
                      "larger number",
                      options.restore, manifest.step, *options.trained_steps));
  }
  if (options.save.empty()) return;
  if (options.save_mode == SaveMode::behind) require_kept(options);
  make_folder(options.save);
  if (access(options.save.c_str(), W_OK) != 0)
    throw InputError(fmt::format("--save {}: cannot be written to: {}", options.save, std::strerror(errno)));
  const auto steps = datasets::saved_steps(options.save);
  if (steps.empty()) return;
  const std::string latest = datasets::step_folder(options.save, steps.back());
  std::error_code none;
  if (!options.restore.empty() &&
      std::filesystem::equivalent(datasets::latest_checkpoint(options.restore), latest, none))
    return;
  throw InputError(fmt::format(
      "--save {0}: holds a checkpoint of step {1} already; go on from it with --restore {0}, or name another "
      "folder",
      options.save, steps.back()));
}

}  // namespace shardmark::workloads
