// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "datasets/cores_file.hpp"
#include "datasets/npy.hpp"
#include "reference/output_file.hpp"
#include "workloads/cases/case.hpp"
#include "workloads/cases/option_table.hpp"
#include "workloads/cases/options.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/launcher.hpp"

namespace shardmark::workloads {
namespace {

/// Of the table of options.
constexpr std::array<std::string_view, 5> names{"tt.cores", "tt.row_shape", "tt.dim_shape", "tt.ranks",
                                                "tt.compression"};

struct DecomposeArguments {
  std::string in, out;
  bool force = false;
  std::array<std::string, names.size()> values;
};

const Option& option_called(std::string_view name) { return choice_named(options(), "option", name); }

Table asked_table(const DecomposeArguments& arguments, const datasets::Matrix& matrix) {
  RunOptions run;
  run.workload.tables = {{.name = std::filesystem::path(arguments.in).stem().string(),
                          .rows = matrix.rows,
                          .dim = matrix.columns,
                          .storage = Storage::tt}};
  Case config;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& value = arguments.values[i];
    if (value.empty()) continue;
    try {
      option_called(names[i]).set(run, config, value);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{} {}: {}", option_called(names[i]).flag(), value, error.what()));
    }
  }
  return run.workload.tables.front();
}

std::string listed(std::span<const std::int64_t> numbers) { return fmt::format("{}", fmt::join(numbers, ",")); }

void decompose(const DecomposeArguments& arguments) {
  require_alone("data tensor-train");
  require_new(arguments.out, arguments.force);
  const datasets::Matrix matrix = datasets::read_npy(arguments.in);
  const Table table = asked_table(arguments, matrix);
  const datasets::DecomposedTable tt = datasets::tt_svd(table, matrix.values);
  datasets::write_cores(arguments.out, table, tt);
  const TensorTrainShape& shape = tt.shape;
  const auto cores = static_cast<std::size_t>(shape.cores);
  const auto parameters = static_cast<double>(shape.parameters());
  fmt::print("{}: {} rows x {} as {} cores\nrow shape       {}\ndim shape       {}\nranks           {}\n",
             arguments.out, table.rows, table.dim, cores, listed(std::span(shape.p).first(cores)),
             listed(std::span(shape.q).first(cores)), listed(std::span(shape.r).subspan(1, cores - 1)));
  fmt::print("parameters      {}\ncompression     {:.3f}\nrelative error  {:.3e}\n", shape.parameters(),
             static_cast<double>(table.rows * table.dim) / parameters, tt.relative_error);
}

}  // namespace

void define_data_tensor_train(CLI::App& app) {
  const auto arguments = std::make_shared<DecomposeArguments>();
  CLI::App& command = *app.add_subcommand(
      "tensor-train", "decompose a dense table into the cores of a tensor train (TT-SVD), for --tt.import");
  command.add_option("TABLE", arguments->in, "matrix of float32 or float64, written by numpy.save")->required();
  command.add_option("CORES,--out", arguments->out, "HDF5 file to write")->required();
  add_force(command, arguments->force);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Option& option = option_called(names[i]);
    command.add_option(option.flag(), arguments->values[i], fmt::format("{}: {}", option.description, option.valid));
  }
  command.callback([arguments] { decompose(*arguments); });
}

}  // namespace shardmark::workloads
