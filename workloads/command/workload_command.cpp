// SPDX-License-Identifier: Apache-2.0
// `workload new` and `workload schema`: specs of the user's own tables.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "reference/error.hpp"
#include "reference/output_file.hpp"
#include "workloads/cases/spec.hpp"
#include "workloads/cases/spec_key.hpp"
#include "workloads/cases/workload_summary.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/launcher.hpp"

namespace shardmark::workloads {
namespace {

void write_new(const std::string& file, bool force) {
  require_alone("workload new");
  const std::filesystem::path path(file);
  if (path.extension() != ".json" || path.stem().empty())
    throw InputError(fmt::format("{}: name a file that ends in .json, such as my-tables.json", file));
  require_new(file, force);
  write_file(file, example_spec(path.stem().string()));
  fmt::print(
      "wrote {0}: {1}\n"
      "  Put your tables in it: shardmark list spec-keys has every key, docs/workload-specs.md explains them.\n"
      "  See what it says:      shardmark run {0} --dry-run\n"
      "  Measure plans of it:   mpiexec -n 2 shardmark compare {0}\n"
      "  Ask for more ranks:    shardmark predict {0} --ranks 8,64\n",
      file, summary_of(load_workload(file)));
}

}  // namespace

void define_workload(CLI::App& app) {
  app.require_subcommand(1);
  const auto file = std::make_shared<std::string>();
  const auto force = std::make_shared<bool>(false);
  CLI::App& make = *app.add_subcommand("new", "write a small spec that runs as it is, to put your own tables in");
  make.add_option("FILE", *file, "spec to write; it ends in .json, and its stem is the name of the workload")
      ->required();
  add_force(make, *force);
  make.callback([file, force] { write_new(*file, *force); });
  app.add_subcommand("schema", "print a JSON schema of specs, for editors")->callback([] {
    fmt::print("{}\n", spec_schema().dump(2));
  });
}

}  // namespace shardmark::workloads
