// SPDX-License-Identifier: Apache-2.0
// `data import`: checks what is asked for and starts the script that reads CSV and Parquet by Apache Arrow.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reference/named.hpp"
#include "reference/output_file.hpp"
#include "workloads/cases/spec.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/launcher.hpp"
#include "workloads/command/start_script.hpp"

namespace shardmark::workloads {
namespace {

struct ImportArguments {
  std::string in, out, workload, label, numerical;
  std::string scale = "1", rule = "none", separator = "|";
  std::vector<std::string> columns;
  std::int64_t min_count = 1;
  bool force = false;
};

struct ImportRule {
  std::string_view name, description;
};
constexpr std::array import_rules{
    ImportRule{"none", "a value is a row of the table"},
    ImportRule{"modulo", "the value, or the CRC-32 of a text, modulo the table's rows; a missing value counts as 0"},
    ImportRule{"frequency", "0 for missing, 1 for rarer than --min-count, then by falling count, ties by value"},
};

/// Returns what the script has to know of the features: [{"key": "user", "rows": 5000000, "hotness": 1}, ...].
std::string features_of(const Workload& workload) {
  const std::vector<std::int64_t> rows = rows_of_features(workload);
  nlohmann::ordered_json features = nlohmann::ordered_json::array();
  for (std::size_t f = 0; f < workload.features.size(); ++f)
    features.push_back(
        {{"key", workload.features[f].name}, {"rows", rows[f]}, {"hotness", workload.features[f].hotness}});
  return features.dump();
}

void import(const ImportArguments& arguments) {
  require_alone("data import");
  choice_named(import_rules, "id rule", arguments.rule);
  require_new(arguments.out, arguments.force);
  for (const std::string& each : arguments.columns)
    if (each.find('=') == each.npos)
      throw InputError(fmt::format("--column {}: expected FEATURE=COLUMN, such as user=user_id", each));
  std::vector<std::string> words{"--features",  features_of(load_workload(arguments.workload, arguments.scale)),
                                 "--rule",      arguments.rule,
                                 "--min-count", std::to_string(arguments.min_count),
                                 "--label",     arguments.label,
                                 "--numerical", arguments.numerical,
                                 "--separator", arguments.separator};
  for (const std::string& each : arguments.columns) words.insert(words.end(), {"--column", each});
  words.insert(words.end(), {"--", arguments.in, arguments.out});
  start_script("data import", "pyarrow", "columns.py", words);
}

}  // namespace

void define_data_import(CLI::App& app) {
  const auto arguments = std::make_shared<ImportArguments>();
  CLI::App& command = *app.add_subcommand(
      "import", "write samples from CSV or Parquet, a column for each feature, as HDF5 for --data (needs pyarrow)");
  command.add_option("IN", arguments->in, "file ending in .parquet, .csv or .tsv (.gz, .zst), or a folder of them")
      ->required();
  command.add_option("OUT,--out", arguments->out, "HDF5 file to write")->required();
  add_force(command, arguments->force);
  command
      .add_option("--workload", arguments->workload,
                  "workload, or spec file (.json), whose features the columns are; lists, or texts with --separator "
                  "where a feature has several ids, are bags")
      ->required();
  command.add_option("--column", arguments->columns, "column of a feature (default: that of its name); repeatable")
      ->type_name("FEATURE=COLUMN");
  command.add_option("--label", arguments->label, "column of labels, 0 or 1 (default: there are none)")
      ->type_name("COLUMN");
  command
      .add_option("--numerical", arguments->numerical,
                  "columns of numerical features, separated by commas (default: none)")
      ->type_name("COLUMN,...");
  command.add_option("--id-rule", arguments->rule, described("how values become ids", import_rules))
      ->capture_default_str();
  command.add_option("--min-count", arguments->min_count, "id rule frequency: rarer values get id 1")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--separator", arguments->separator, "between the ids of a text")->capture_default_str();
  command.add_option("--scale", arguments->scale, "divide the rows of every table, such as 1/64")
      ->capture_default_str();
  command.callback([arguments] { import(*arguments); });
}

}  // namespace shardmark::workloads
