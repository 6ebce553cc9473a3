// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/case_options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "datasets/id_mapping.hpp"
#include "workloads/step/watchdog.hpp"

namespace shardmark {
std::int64_t count(const std::string& option, const std::string& text, std::int64_t least) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least)
    throw InputError(fmt::format("{} {}: expected a number of at least {}", option, text, least));
  return value;
}

namespace {

/// For counts and durations on the command line.
std::string check_positive(const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && end == text.data() + text.size() && value > 0.0 && std::isfinite(value);
  return good ? "" : fmt::format("'{}' is not a number above 0", text);
}

}  // namespace

void add_case_options(CLI::App& app, CaseArguments& a, bool lists) {
  app.add_option("WORKLOAD", a.workload, "built-in workload (shardmark list workloads) or spec file ending in .json")
      ->required();
  const auto add_names = [&](const char* option, std::vector<std::string>& names, const char* what) {
    auto* const added = app.add_option(option, names, what);
    return lists ? added->delimiter(',') : added->expected(1);
  };
  auto* both = add_names("--wire", a.wires, "value type of vectors and gradients on the wire: fp32, fp16, bf16, int8");
  add_names("--wire-forward", a.wires_forward, "of vectors alone (default: fp32)")->excludes(both);
  add_names("--wire-backward", a.wires_backward, "of gradients alone (default: fp32)")->excludes(both);
  add_names("--wire-ids", a.wire_ids, "type of ids on the wire: auto (int32 when all local rows fit), int64")
      ->capture_default_str();
  add_names("--groups", a.groups, "groups of tables whose lookups and exchanges overlap; table: one per table")
      ->capture_default_str();
  add_names("--group-balance", a.group_balances, "what groups have in equal measure: count (of tables), bytes")
      ->capture_default_str();
  add_names("--replicated-gradients", a.replicated_gradients,
            "how gradients of data_parallel tables are summed over the ranks: dense, rows, auto")
      ->capture_default_str();
  app.add_option("--optimizer", a.optimizer, "optimizer of every table (default: the workload's)");
  app.add_option("--pooling", a.pooling, "pooling of every feature (default: the workload's)");
  app.add_option("--dtype", a.value_type, "value type of every table (default: the workload's)");
  app.add_option("--batch", a.batch, "samples per step over all ranks (default: the workload's)")
      ->check(check_positive);
  app.add_option("--scale", a.scale, "divide the row counts of the tables: 1/64")->capture_default_str();
  app.add_option("--steps", a.steps, "timed steps per case, or auto: until the median is known to 2.5 %")
      ->capture_default_str();
  app.add_option("--seconds", a.seconds, "with --steps auto: most time per case")
      ->check(check_positive)
      ->capture_default_str();
  app.add_option("--check", a.check, "steps to compare with the serial reference first, or off")->capture_default_str();
  app.add_option("--threads", a.threads,
                 "threads per rank (default: OMP_NUM_THREADS, or the cores it may use / the ranks that share them)")
      ->check(check_positive);
  app.add_option("--data", a.data.file, "samples: Criteo TSV (.gz, .zst) or a file of `shardmark data convert`");
  app.add_option("--ids", a.data.id_rule, "id rule of a TSV file: modulo, frequency")->capture_default_str();
  app.add_option("--min-count", a.data.min_count, "with --ids frequency: rarer values share id 1")
      ->check(check_positive)
      ->capture_default_str();
  app.add_option("--bounds-check", a.bounds_check, "ids outside their table and the like: on, warn, off")
      ->capture_default_str();
  app.add_option("--malformed", a.data.malformed, "malformed lines of a TSV file: stop, skip")->capture_default_str();
  app.add_option("--set", a.settings, "key=value, repeatable (shardmark list settings)");
  app.add_option("--watchdog", a.watchdog, std::string(watchdog_help))
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--calibration", a.calibration,
                 "with --exchange auto: FILE of `shardmark exchange --calibrate` (default: measured in the job)");
  app.add_option("--out", a.out, "results file (default: results/local/WORKLOAD-TIME.jsonl)");
  app.add_flag("--dry-run", a.dry_run, "print the workload in full and stop; needs no MPI");
}

RunOptions options_of(const CaseArguments& a) {
  RunOptions options;
  options.workload = load_workload(a.workload);
  if (!a.optimizer.empty())
    for (Table& table : options.workload.tables) table.optimizer.kind = named<OptimizerKind>(a.optimizer);
  if (!a.pooling.empty())
    for (Feature& feature : options.workload.features) feature.pooling = named<Pooling>(a.pooling);
  if (!a.value_type.empty())
    for (Table& table : options.workload.tables) table.value_type = named<ValueType>(a.value_type);
  options.bounds_check = named<kernels::BoundsCheck>(a.bounds_check);
  if (a.batch > 0) options.workload.global_batch = a.batch;
  if (const std::int64_t divisor = parse_scale(a.scale); divisor > 1) scale_rows(options.workload, divisor);
  if (a.steps != "auto") options.steps = count("--steps", a.steps, 1);
  options.seconds = a.seconds;
  options.checked_steps = a.check == "off" ? 0 : count("--check", a.check, 1);
  choice_named(id_rules, "id rule", a.data.id_rule);
  choice_named(malformed_choices, "action on malformed lines", a.data.malformed);
  options.data = a.data;
  if (!a.data.file.empty())
    for (const std::string& text : a.settings)
      if (text.starts_with("ids.") || text.starts_with("hotness="))
        throw InputError(
            fmt::format("--set {}: the ids come from --data {}; leave one of them out", text, a.data.file));
  apply_settings(options, a.settings);
  return options;
}

}  // namespace shardmark
