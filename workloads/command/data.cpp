// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "datasets/criteo_convert.hpp"
#include "datasets/criteo_generate.hpp"
#include "datasets/criteo_hdf5.hpp"
#include "datasets/criteo_tsv.hpp"
#include "datasets/data_statistics.hpp"
#include "datasets/sample_source.hpp"
#include "reference/error.hpp"
#include "reference/output_file.hpp"
#include "workloads/cases/spec.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/launcher.hpp"

namespace shardmark::workloads {
namespace {

struct DataArguments {
  std::string in;
  std::string out;
  bool force = false;
  std::int64_t samples = 0;
  std::uint64_t seed = 1;
  double alpha = 1.05;
  std::string rows = "kaggle";
  std::string ids = "modulo";
  std::int64_t min_count = 1;
  std::string dictionary;
  std::string workload = "criteo-kaggle";
  std::string scale = "1";
  std::string malformed = "stop";

  datasets::CriteoReaderOptions reader() const { return {.malformed = named<datasets::Malformed>(malformed)}; }
};

/// Says on stderr, every two seconds, how far it is.
datasets::Progress progress_of(const std::string& doing) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  return [doing, start, next = start + std::chrono::seconds(2)](std::int64_t samples) mutable {
    const auto now = Clock::now();
    if (now < next) return;
    next = now + std::chrono::seconds(2);
    const std::chrono::duration<double> elapsed = now - start;
    fmt::print(stderr, "{}: {} samples, {:.2f} M/s\n", doing, samples,
               static_cast<double>(samples) / elapsed.count() / 1e6);
  };
}

void warn(const std::string& text) {
  if (!text.empty()) fmt::print(stderr, "{}\n", text);
}

/// The rows of a named list of cardinalities, or 26 numbers separated by commas.
datasets::CriteoRows parse_rows(const std::string& text) {
  if (text.find(',') == std::string::npos)
    return choice_named(datasets::criteo_cardinalities, "list of rows", text).rows;
  const std::vector<std::string> parts = CLI::detail::split(text, ',');
  if (parts.size() != datasets::criteo_categories)
    throw InputError(fmt::format("--rows: 26 numbers are needed, got {}", parts.size()));
  datasets::CriteoRows rows{};
  for (std::size_t c = 0; c < rows.size(); ++c)
    if (!CLI::detail::lexical_cast(parts[c], rows[c]))
      throw InputError(fmt::format("--rows: '{}' is not a number", parts[c]));
  return rows;
}

void generate(const DataArguments& options) {
  require_alone("data generate");
  require_new(options.out, options.force);
  const datasets::CriteoRecipe recipe{
      .samples = options.samples, .seed = options.seed, .alpha = options.alpha, .rows = parse_rows(options.rows)};
  datasets::generate_criteo(options.out, recipe, progress_of("generating"));
  std::error_code no_file;  // a pipe has no size
  const auto bytes = std::filesystem::file_size(options.out, no_file);
  fmt::print("{}: {} synthetic samples, seed {}, alpha {}{}\n", options.out, recipe.samples, recipe.seed, recipe.alpha,
             no_file ? "" : fmt::format(", {} bytes", bytes));
}

datasets::IdMapping make_mapping(const DataArguments& options) {
  if (!options.dictionary.empty()) return datasets::SampleFileReader(options.dictionary).mapping();
  const std::vector<std::int64_t> rows = rows_of_features(load_workload(options.workload, options.scale));
  if (named<datasets::IdRule>(options.ids) == datasets::IdRule::raw)
    throw InputError(
        "--ids raw: raw values are no rows of a table, which HDF5 files have; use modulo or frequency, or "
        "give the TSV file itself to run --data");
  if (named<datasets::IdRule>(options.ids) == datasets::IdRule::modulo) return datasets::IdMapping::modulo(rows);
  datasets::IdMapping mapping =
      datasets::count_frequencies(options.in, options.reader(), rows, options.min_count, progress_of("counting"));
  warn(mapping.dropped_summary());
  return mapping;
}

void convert(const DataArguments& options) {
  // Not left to the parser, which would take the word criteo for a required IN.
  if (options.in.empty() || options.out.empty())
    throw InputError("data convert: IN and OUT are required; see shardmark data convert --help");
  require_alone("data convert");
  if (datasets::is_hdf5(options.in))
    throw InputError(options.in + ": is an HDF5 file already; a Criteo TSV file is needed");
  std::error_code absent;
  if (std::filesystem::equivalent(options.in, options.out, absent))
    throw InputError(options.out + ": is the input too; name another file to write");
  require_new(options.out, options.force);
  const datasets::IdMapping mapping = make_mapping(options);
  const datasets::ConvertReport report =
      datasets::convert_criteo(options.in, options.out, mapping, options.reader(), progress_of("converting"));
  warn(report.malformed_summary);
  if (!report.labelled) warn(options.in + ": lines of 39 fields, so there are no labels; all are 0");
  fmt::print("{}: {} samples from {} bytes of text, {} malformed lines left out, ids by {}\n", options.out,
             report.samples, report.text_bytes, report.malformed, name_of(mapping.rule()));
}

std::string count_text(std::int64_t count) { return count < 0 ? "-" : fmt::format("{}", count); }

/// Categories of a TSV file in hexadecimal, as they stand there.
std::string value_text(double value, bool hexadecimal) {
  return hexadecimal ? fmt::format("{:08x}", static_cast<std::uint32_t>(value)) : fmt::format("{:.0f}", value);
}

void print(const datasets::DataStatistics& statistics, bool hexadecimal_categories) {
  const auto samples = static_cast<double>(statistics.samples);
  fmt::print("samples    {}\npositives  {} ({:.2f} %)\n\n", statistics.samples, statistics.positives,
             100.0 * static_cast<double>(statistics.positives) / samples);
  fmt::print("{:>8} {:>12} {:>12} {:>10} {:>12} {:>12} {:>12}\n", "column", "values", "missing", "missing %", "unique",
             "min", "max");
  for (const datasets::ColumnStatistics& column : statistics.columns) {
    const bool hexadecimal = hexadecimal_categories && column.unique >= 0;
    const std::string share =
        column.missing < 0 ? "-" : fmt::format("{:.2f}", 100.0 * static_cast<double>(column.missing) / samples);
    fmt::print("{:>8} {:>12} {:>12} {:>10} {:>12} {:>12} {:>12}\n", column.name, column.values,
               count_text(column.missing), share, count_text(column.unique), value_text(column.minimum, hexadecimal),
               value_text(column.maximum, hexadecimal));
  }
}

void inspect_text(const DataArguments& options) {
  datasets::CriteoReader reader(options.in, options.reader());
  const datasets::DataStatistics statistics = datasets::inspect(reader, progress_of("reading"));
  if (statistics.samples == 0) throw InputError(options.in + ": holds no samples");
  fmt::print("{}: Criteo TSV, {} lines{}, {} malformed, labels {}\n", options.in, reader.lines(),
             reader.has_header() ? ", the first of names" : "", reader.malformed(),
             reader.labelled() ? "read" : "absent (0)");
  print(statistics, true);
  warn(reader.malformed_summary());
}

void inspect_hdf5(const DataArguments& options) {
  datasets::SampleFileReader reader(options.in);
  if (reader.samples() == 0) throw InputError(options.in + ": holds no samples");
  reader.verify();
  fmt::print("{}: HDF5, from {}, id rule {}, labels {}; {}\n", options.in, reader.meta().source, reader.id_rule(),
             reader.meta().labelled ? "read" : "absent (0)",
             reader.has_checksums() ? "all checksums match" : "all ids are rows; there are no checksums");
  print(datasets::inspect(reader, progress_of("reading")), false);
}

void inspect_file(const DataArguments& options) {
  datasets::is_hdf5(options.in) ? inspect_hdf5(options) : inspect_text(options);
}

using SharedData = std::shared_ptr<DataArguments>;

void add_malformed(CLI::App& command, const SharedData& options) {
  command.add_option("--malformed", options->malformed, described("malformed lines", datasets::malformed_choices))
      ->capture_default_str();
}

/// OUT or --out OUT, and --force: all of both commands that write.
CLI::Option* add_output(CLI::App& command, const SharedData& options, const std::string& description) {
  add_force(command, options->force);
  return command.add_option("OUT,--out", options->out, description);
}

void define_generate(CLI::App& app) {
  const auto options = std::make_shared<DataArguments>();
  CLI::App& command = *app.add_subcommand("generate", "write a synthetic data set");
  command.require_subcommand(1);
  CLI::App& criteo = *command.add_subcommand(
      "criteo", "a TSV file in the shape of Criteo's: published cardinalities and missing rates, power-law ids");
  add_output(criteo, options, "file to write; .gz and .zst are compressed")->required();
  criteo.add_option("--samples", options->samples, "lines")->required()->check(CLI::PositiveNumber);
  criteo.add_option("--seed", options->seed, "the same seed gives the same file")->capture_default_str();
  criteo.add_option("--alpha", options->alpha, "P(id) ~ (id + 1)^-alpha; 0: uniform")->capture_default_str();
  criteo
      .add_option("--rows", options->rows,
                  described("ids per categorical column, 26 numbers with commas or", datasets::criteo_cardinalities))
      ->capture_default_str();
  criteo.callback([options] { generate(*options); });
}

void define_data_convert(CLI::App& app) {
  const auto options = std::make_shared<DataArguments>();
  CLI::App& command = *app.add_subcommand("convert", "convert a Criteo TSV file to HDF5, ids mapped into the tables");
  command.add_option("IN", options->in, "Criteo TSV file: plain, .gz or .zst");
  add_output(command, options, "HDF5 file to write");
  command.add_subcommand("criteo", "the format of IN; may be left out, there is no other yet")->fallthrough();
  auto* ids =
      command.add_option("--id-rule", options->ids, described("id rule", datasets::id_rules))->capture_default_str();
  auto* min_count = command.add_option("--min-count", options->min_count, "id rule frequency: rarer values get id 1")
                        ->check(CLI::PositiveNumber)
                        ->capture_default_str();
  command
      .add_option("--dictionary", options->dictionary, "take tables, rule and dictionaries from this converted file")
      ->excludes(ids)
      ->excludes(min_count);
  command.add_option("--workload", options->workload, "workload, or spec file (.json), whose tables have the rows")
      ->capture_default_str();
  command.add_option("--scale", options->scale, "divide the rows of every table, such as 1/64")->capture_default_str();
  add_malformed(command, options);
  command.callback([options] { convert(*options); });
}

void define_inspect(CLI::App& app) {
  const auto options = std::make_shared<DataArguments>();
  CLI::App& command = *app.add_subcommand("inspect", "print what a data file holds; verify its checksums");
  command.add_option("FILE", options->in, "Criteo TSV file, or converted HDF5 file")->required();
  add_malformed(command, options);
  command.callback([options] { inspect_file(*options); });
}

}  // namespace

void define_data(CLI::App& app) {
  app.require_subcommand(1);
  define_generate(app);
  define_data_convert(app);
  define_data_import(app);
  define_inspect(app);
  define_data_statistics(app);
  define_data_tensor_train(app);
}

}  // namespace shardmark::workloads
