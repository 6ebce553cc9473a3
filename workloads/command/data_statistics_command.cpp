// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>

#include "workloads/batches/workload_statistics.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/launcher.hpp"

namespace shardmark::workloads {
namespace {

struct StatisticsArguments {
  DataOptions data;
  std::string workload = "criteo-kaggle", scale = "1", ids = "modulo", malformed = "stop";
  std::int64_t batch = 0;  ///< 0: the workload's
  int ranks = 0;           ///< 0: nothing about shards
};

/// Of the shards of a table that is split evenly by rows.
struct ShardLoads {
  double imbalance = 1.0;  ///< ids of the busiest over the mean
  double bags = 0.0;       ///< share of the bags that name a row of the busiest shard
};

ShardLoads loads_of(const placement::LookupStatistics& statistics, std::int64_t table, std::int64_t samples, int ranks,
                    bool modulo) {
  const std::int64_t rows = statistics.tables()[table].rows;
  placement::ShardCounts busiest;
  double ids = 0.0;
  for (std::int64_t k = 0; k < ranks; ++k) {
    const placement::RowSet shard = modulo ? placement::RowSet{std::min(k, rows), rows, ranks}
                                           : placement::RowSet{k * rows / ranks, (k + 1) * rows / ranks, 1};
    if (shard.count() == 0) continue;
    const placement::ShardCounts& counts = statistics.expected(table, shard, samples);
    ids += counts.ids;
    if (counts.ids > busiest.ids) busiest = counts;
  }
  if (ids == 0.0) return {};
  return {busiest.ids * ranks / ids, busiest.touched_bags / busiest.bags};
}

void print_table(const placement::LookupStatistics& statistics, const placement::MeasuredIds& ids, std::int64_t table,
                 const StatisticsArguments& arguments, std::int64_t batch) {
  const placement::RowPopularity& popularity = ids.tables[table];
  const auto rows = static_cast<double>(popularity.rows);
  const placement::ShardCounts& counts = statistics.expected(table, {0, popularity.rows, 1}, batch);
  const std::int64_t percent = std::max<std::int64_t>(1, popularity.rows / 100);
  fmt::print("{:>12} {:>12} {:>10} {:>9.3f} {:>9.2f} {:>10.4g} {:>13.2f} {:>9.2f}", statistics.tables()[table].name,
             popularity.rows, popularity.named(), 100.0 * static_cast<double>(popularity.named()) / rows,
             100.0 * popularity.mass_of_most_popular(percent), counts.ids / static_cast<double>(batch),
             counts.distinct_rows, counts.ids > 0.0 ? 100.0 * counts.distinct_rows / counts.ids : 0.0);
  if (arguments.ranks > 0)
    for (const bool modulo : {true, false}) {
      const ShardLoads loads = loads_of(statistics, table, batch, arguments.ranks, modulo);
      fmt::print(" {:>9.2f} {:>9.2f}", loads.imbalance, 100.0 * loads.bags);
    }
  fmt::print("\n");
}

void print_statistics(const StatisticsArguments& arguments) {
  require_alone("data statistics");
  const Workload workload = load_workload(arguments.workload, arguments.scale);
  DataOptions data = arguments.data;
  data.id_rule = named<datasets::IdRule>(arguments.ids);
  data.malformed = named<datasets::Malformed>(arguments.malformed);
  const auto ids = std::make_shared<placement::MeasuredIds>(
      measured_ids_of(workload, data, [](const std::string& text) { fmt::print(stderr, "{}\n", text); }));
  const placement::LookupStatistics statistics(workload.tables, workload.features, {.measured = ids});
  const std::int64_t batch = arguments.batch > 0 ? arguments.batch : workload.global_batch;
  fmt::print("{}: {} samples, in the tables of {}{}; kept in {}\n", data.file, ids->samples, workload.name,
             workload.scale > 1 ? fmt::format(" at 1/{}", workload.scale) : "", statistics_file(data.file));
  fmt::print(
      "hot 1 %: % of the ids that name the most popular 1 % of the rows. unique: rows that a batch of {} is "
      "expected to name, and % of its ids.\n",
      batch);
  if (arguments.ranks > 0)
    fmt::print(
        "mod, block: the busiest of {} shards by row modulo ranks and in blocks: its ids over the mean, % of "
        "the bags that name a row of it.\n",
        arguments.ranks);
  fmt::print("\n{:>12} {:>12} {:>10} {:>9} {:>9} {:>10} {:>13} {:>9}", "table", "rows", "named", "named %", "hot 1 %",
             "ids/sample", "unique", "unique %");
  if (arguments.ranks > 0) fmt::print(" {:>9} {:>9} {:>9} {:>9}", "mod", "mod %", "block", "block %");
  fmt::print("\n");
  for (std::int64_t t = 0; t < std::ssize(workload.tables); ++t) print_table(statistics, *ids, t, arguments, batch);
}

}  // namespace

void define_data_statistics(CLI::App& app) {
  const auto arguments = std::make_shared<StatisticsArguments>();
  CLI::App& command = *app.add_subcommand(
      "statistics", "count how often each row is looked up; keep it beside the data, for predictions and planners");
  command.add_option("FILE", arguments->data.file, "Criteo TSV file, or converted HDF5 file")->required();
  command.add_option("--workload", arguments->workload, "workload, or spec file (.json), whose tables are looked up")
      ->capture_default_str();
  command.add_option("--scale", arguments->scale, "divide the rows of every table, such as 1/64")
      ->capture_default_str();
  command.add_option("--id-rule", arguments->ids, described("id rule of a TSV file", datasets::id_rules))
      ->capture_default_str();
  command.add_option("--min-count", arguments->data.min_count, "id rule frequency: rarer values get id 1")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--malformed", arguments->malformed, described("malformed lines", datasets::malformed_choices))
      ->capture_default_str();
  command.add_option("--batch", arguments->batch, "samples of a batch (default: the workload's)")
      ->check(CLI::PositiveNumber);
  command.add_option("--ranks", arguments->ranks, "also the load of as many shards of each table")
      ->check(CLI::Range(1, placement::largest_job));
  command.callback([arguments] { print_statistics(*arguments); });
}

}  // namespace shardmark::workloads
