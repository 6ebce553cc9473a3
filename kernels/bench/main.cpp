// SPDX-License-Identifier: Apache-2.0
// shardmark-kernels: the kernels of a step on one rank, measured by Google Benchmark and held against ceilings measured
// beside them.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string_view>

#include "build_options.hpp"
#include "git_revision.hpp"
#include "kernels/bench/dense_cases.hpp"
#include "kernels/bench/suite.hpp"
#include "kernels/dense/gemm.hpp"
#include "reference/dense/dense_spec.hpp"
#include "reference/error.hpp"
#include "reference/number.hpp"

namespace shardmark::kernels::bench {
namespace {

/// In this order on each case and value type: one after the other uses the same tables.
constexpr std::array kernels{add_pooled_lookup,   add_bag_kernels,      add_id_kernels,
                             add_backward_update, add_gradient_kernels, add_dynamic_keys};

constexpr std::string_view usage =
    "shardmark-kernels [options of Google Benchmark] [--scale=1/N] [--batch-times=N] [--ceilings=on|off] "
    "[--list-cases]\n"
    "  --scale=1/N        divide the rows of every table, and the batch, by N\n"
    "  --batch-times=N    multiply the batch by N: a GPU wants 8 to 16 times as many samples at once as a processor\n"
    "  --ceilings=on|off  measure the ceilings between the timed calls (default on)\n"
    "  --list-cases       print the cases as JSON and end\n";

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument(argv[i]);
    const auto value = argument.substr(std::min(argument.find('=') + 1, argument.size()));
    if (argument.starts_with("--scale=1/")) {
      options.divisor = number_in<decltype(options.divisor)>(value.substr(2)).value_or(0);
      if (options.divisor > 0) continue;
    } else if (argument.starts_with("--batch-times=")) {
      options.batch_times = number_in<decltype(options.batch_times)>(value).value_or(0);
      if (options.batch_times > 0 && options.batch_times <= 1 << 20) continue;
    } else if (argument == "--ceilings=on" || argument == "--ceilings=off") {
      options.ceilings = value == "on";
      continue;
    }
    if (argument == "--list-cases") {
      options.list_cases = true;
      continue;
    }
    throw InputError("unknown argument '" + std::string(argument) + "'; usage:\n" + std::string(usage));
  }
  return options;
}

std::string first_line(const char* path, std::string_view key = "") {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return line;
  return "unknown";
}

std::string kokkos_configuration() {
  std::ostringstream text;
  Kokkos::print_configuration(text);
  std::string line;
  for (const char c : text.str()) line += c == '\n' ? ';' : c;
  return line;
}

void add_context(const Options& options) {
  using benchmark::AddCustomContext;
  const std::string cpu = first_line("/proc/cpuinfo", "model name");
  AddCustomContext("shardmark", std::string(build_version));
  AddCustomContext("git_hash", std::string(git_hash) + (git_dirty ? "+" : ""));
  AddCustomContext("compiler", std::string(build_compiler));
  AddCustomContext("build_type", std::string(build_type));
  AddCustomContext("flags", std::string(build_flags));
  AddCustomContext("cpu", cpu.substr(std::min(cpu.size(), cpu.find(": ") + 2)));
  AddCustomContext("threads", std::to_string(Exec{}.concurrency()));
  AddCustomContext("transparent_huge_pages", first_line("/sys/kernel/mm/transparent_hugepage/enabled"));
  AddCustomContext("scale", "1/" + std::to_string(options.divisor));
  AddCustomContext("batch_times", std::to_string(options.batch_times));
  AddCustomContext("blas", blas_name());
  AddCustomContext("kokkos", kokkos_configuration());
}

template <class List, class Of>
std::string numbers(const List& list, const Of& of) {
  std::string text;
  for (const auto& entry : list) text += (text.empty() ? "" : ", ") + std::to_string(of(entry));
  return '[' + text + ']';
}

/// {"name", "dim", "batch", "alpha", "shuffled", "rows": [of each table], "hotness": [of each table]}
std::string json_text(const Case& shape, const Options& options) {
  char alpha[32];
  std::snprintf(alpha, sizeof(alpha), "%g", shape.alpha);
  return "{\"name\": \"" + std::string(shape.name) + "\", \"dim\": " + std::to_string(shape.dim) +
         ", \"batch\": " + std::to_string(scaled_batch(shape.batch, options)) + ", \"alpha\": " + alpha +
         ", \"shuffled\": " + (shape.shuffled ? "true" : "false") +
         ", \"rows\": " + numbers(shape.tables, [&](const TableShape& t) { return scaled(t.rows, options); }) +
         ", \"hotness\": " + numbers(shape.tables, [](const TableShape& t) { return t.hotness; });
}

/// {"name", "dense", "batch", "widths": [of each vector], "numerical_features", "bottom_mlp", "top_mlp",
/// "cross_layers", "cross_rank"}
std::string json_text(const DenseCase& model, const Options& options) {
  const DenseSpec& spec = model.spec;
  const auto list = [](const auto& values) { return numbers(values, std::identity()); };
  return "{\"name\": \"" + std::string(model.name) + "\", \"dense\": \"" + std::string(name_of(spec.kind)) +
         "\", \"batch\": " + std::to_string(scaled_batch(dense_batch, options)) + ", \"widths\": " + list(spec.widths) +
         ", \"numerical_features\": " + std::to_string(spec.numerical_features) +
         ", \"bottom_mlp\": " + list(spec.bottom_mlp) + ", \"top_mlp\": " + list(spec.top_mlp) +
         ", \"cross_layers\": " + std::to_string(spec.cross_layers) +
         ", \"cross_rank\": " + std::to_string(spec.cross_rank) +
         ", \"parameters\": " + std::to_string(dense_work(spec).parameters) + '}';
}

/// The cases, those of tensor trains with "p", "q" and "r" of their shape, then those of dense models.
void list_cases(const Options& options) {
  const auto factors = [](const auto& all, std::size_t count) {
    return numbers(std::span(all).first(count), std::identity());
  };
  std::string text;
  for (const auto& shape : cases) text += (text.empty() ? "[" : ",\n ") + json_text(shape, options) + '}';
  for (const auto& shape : tensor_train_cases)
    text += ",\n " + json_text(shape, options) + ", \"p\": " + factors(fbtt_shape.p, 3) +
            ", \"q\": " + factors(fbtt_shape.q, 3) + ", \"r\": " + factors(fbtt_shape.r, 4) + '}';
  for (const auto& model : dense_cases()) text += ",\n " + json_text(model, options);
  std::printf("%s]\n", text.c_str());
}

/// Number of benchmarks that or cases that were run or listed.
std::size_t run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  keep_arrays_in_heap();
  Kokkos::ScopeGuard kokkos(argc, argv);
  const Options options = parse(argc, argv);
  if (options.list_cases) {
    list_cases(options);
    return 1;
  }
  Suite suite(options);
  add_context(options);
  for (const auto& shape : cases)
    for (const auto& type : value_types)
      for (const auto& add_kernel : kernels) add_kernel(suite, shape, type.value);
  for (const auto& shape : tensor_train_cases) add_tensor_train(suite, shape);
  add_dense_layers(suite);
  const std::size_t count = benchmark::RunSpecifiedBenchmarks();
  benchmark::ClearRegisteredBenchmarks();
  return count;
}

}  // namespace
}  // namespace shardmark::kernels::bench

int main(int argc, char** argv) {
  try {
    return shardmark::kernels::bench::run(argc, argv) > 0 ? 0 : 2;
  } catch (const shardmark::InputError& error) {
    std::fprintf(stderr, "shardmark-kernels: %s\n", error.what());
    return 2;
  }
}
