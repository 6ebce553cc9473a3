// SPDX-License-Identifier: Apache-2.0
// Rates of reading and writing training data, one core, files in the page cache of a temporary folder.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <string>

#include "datasets/criteo_convert.hpp"
#include "datasets/criteo_generate.hpp"
#include "datasets/criteo_hdf5.hpp"
#include "datasets/criteo_tsv.hpp"
#include "datasets/sample_source.hpp"

namespace {

using namespace shardmark;
using namespace shardmark::datasets;

constexpr std::int64_t samples = 1 << 19;  // about 110 MB of TSV, 80 MB of HDF5
void quiet(std::int64_t) {}

const std::string& folder() {
  static const std::string path = [] {
    const auto made = std::filesystem::temp_directory_path() / "shardmark_bench_datasets";
    std::filesystem::create_directories(made);
    return made.string();
  }();
  return path;
}

std::vector<std::int64_t> rows() {
  const auto& kaggle = criteo_cardinalities[0].rows;
  return {kaggle.begin(), kaggle.end()};
}

std::string tsv(const std::string& extension) {
  const std::string path = folder() + "/train.tsv" + extension;
  if (!std::filesystem::exists(path)) generate_criteo(path, {.samples = samples}, quiet);
  return path;
}

std::string hdf5() {
  const std::string path = folder() + "/train.h5";
  if (!std::filesystem::exists(path)) convert_criteo(tsv(""), path, IdMapping::modulo(rows()), {}, quiet);
  return path;
}

void set_rates(benchmark::State& state, std::int64_t bytes) {
  state.SetBytesProcessed(state.iterations() * bytes);
  state.counters["samples/s"] =
      benchmark::Counter(static_cast<double>(state.iterations() * samples), benchmark::Counter::kIsRate);
}

void parse(benchmark::State& state, const std::string& extension) {
  const std::string path = tsv(extension);
  std::int64_t bytes = 0;
  for (auto _ : state) {
    CriteoReader reader(path);
    CriteoBlock block;
    while (reader.next(block)) benchmark::DoNotOptimize(block.missing.data());
    bytes = reader.bytes();
  }
  set_rates(state, bytes);
}

void parse_and_map(benchmark::State& state) {
  const std::string path = tsv("");
  const IdMapping mapping = IdMapping::modulo(rows());
  for (auto _ : state) {
    CriteoReader reader(path);
    CriteoBlock block;
    Samples out;
    while (reader.next(block)) {
      map_block(block, mapping, out);
      benchmark::DoNotOptimize(out.batch.indices.data());
    }
  }
  set_rates(state, static_cast<std::int64_t>(std::filesystem::file_size(path)));
}

void count(benchmark::State& state) {
  const std::string path = tsv("");
  for (auto _ : state) benchmark::DoNotOptimize(count_frequencies(path, {}, rows(), 3, quiet));
  set_rates(state, static_cast<std::int64_t>(std::filesystem::file_size(path)));
}

void read_hdf5(benchmark::State& state) {
  SampleFileReader reader(hdf5());
  const std::int64_t batch = state.range(0);
  Samples out;
  for (auto _ : state) {
    for (std::int64_t first = 0; first < samples; first += batch) {
      reader.read(first, batch, out);
      benchmark::DoNotOptimize(out.batch.indices.data());
    }
  }
  set_rates(state, static_cast<std::int64_t>(std::filesystem::file_size(hdf5())));
}

void verify_hdf5(benchmark::State& state) {
  SampleFileReader reader(hdf5());
  for (auto _ : state) reader.verify();
  set_rates(state, static_cast<std::int64_t>(std::filesystem::file_size(hdf5())));
}

void convert(benchmark::State& state) {
  const std::string path = tsv("");
  for (auto _ : state) convert_criteo(path, folder() + "/converted.h5", IdMapping::modulo(rows()), {}, quiet);
  set_rates(state, static_cast<std::int64_t>(std::filesystem::file_size(path)));
}

void generate(benchmark::State& state) {
  const std::string path = folder() + "/generated.tsv";
  for (auto _ : state) generate_criteo(path, {.samples = samples}, quiet);
  set_rates(state, static_cast<std::int64_t>(std::filesystem::file_size(path)));
}

BENCHMARK_CAPTURE(parse, plain, std::string())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(parse, gzip, std::string(".gz"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(parse, zstd, std::string(".zst"))->Unit(benchmark::kMillisecond);
BENCHMARK(parse_and_map)->Unit(benchmark::kMillisecond);
BENCHMARK(count)->Unit(benchmark::kMillisecond);
BENCHMARK(read_hdf5)->ArgName("batch")->Arg(2048)->Arg(16384)->Arg(65536)->Unit(benchmark::kMillisecond);
BENCHMARK(verify_hdf5)->Unit(benchmark::kMillisecond);
BENCHMARK(convert)->Unit(benchmark::kMillisecond);
BENCHMARK(generate)->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  std::filesystem::remove_all(folder());
}
