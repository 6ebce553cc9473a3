// SPDX-License-Identifier: Apache-2.0
#include "kernels/bench/suite.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "kernels/huge_pages.hpp"
#include "kernels/route/bag_lengths.hpp"
#include "reference/row_values.hpp"

namespace shardmark::kernels::bench {
namespace {

/// Returns the bytes that are free where the tables go: on a device of its own memory; else MemAvailable of Linux, and
/// without that as many as anybody may ask for.
std::int64_t available_bytes() {
#ifdef KOKKOS_ENABLE_CUDA
  std::size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) == cudaSuccess) return static_cast<std::int64_t>(free);
#endif
  std::ifstream file("/proc/meminfo");
  for (std::string key; file >> key; file.ignore(256, '\n')) {
    std::int64_t kilobytes = 0;
    if (key == "MemAvailable:" && file >> kilobytes) return kilobytes * 1024;
  }
  return std::numeric_limits<std::int64_t>::max();
}

/// Uninitialised words that are to lie in huge pages. Throws std::runtime_error when they do not fit into memory.
template <class Word>
Array<Exec, Word> table_array(const std::string& label, std::int64_t size) {
  constexpr std::int64_t left_over = std::int64_t{256} << 20;
  if (size * 4 > available_bytes() - left_over)
    throw std::runtime_error("needs " + std::to_string(size * 4 >> 20) + " MiB more memory than there is");
  return allocate<Exec, Word>(label, size);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Random values of about 0.01. Bytes: a scale and an offset, then random bits.
template <class Value>
void fill(const Exec& exec, Value* values, std::int64_t count) {
  const RowValues value{.seed = 1, .scale = 0.01F};
  Kokkos::parallel_for(
      "shardmark::bench_fill", static_range(exec, count),
      KOKKOS_LAMBDA(const std::int64_t i) { values[i] = rounded_to<Value>(value(0, i, 0)); });
}
void fill_bytes(const Exec& exec, const WordRows& rows, std::int64_t count) {
  Kokkos::parallel_for(
      "shardmark::bench_fill", static_range(exec, count), KOKKOS_LAMBDA(const std::int64_t i) {
        std::uint32_t* row = rows.words + i * rows.row_words;
        row[0] = Kokkos::bit_cast<std::uint32_t>(1e-4F);
        row[1] = Kokkos::bit_cast<std::uint32_t>(-0.01F);
        for (std::int64_t w = 2; w < rows.row_words; ++w) row[w] = static_cast<std::uint32_t>(random_bits(1, i, w));
      });
}

/// The words of a table and of the state beside it may be changed by nothing but `add` of modify_rows: 0, which the
/// compiler does not know.
std::uint32_t zero() {
  static volatile std::uint32_t zero = 0;
  return zero;
}

}  // namespace

const Problem& Suite::start(const Case& shape) {
  if (!problem_ || &problem_->shape != &shape) {
    rows_ = {};
    state_ = {};
    state_kind_ = OptimizerKind::none;
    settings_.clear();
    problem_ = std::make_unique<Problem>(shape, options_);
  }
  return *problem_;
}

WordRows Suite::rows(ValueType type) {
  const std::int64_t dim = problem_->shape.dim;
  const std::int64_t row_words = row_bytes(type, dim) / 4;
  if (rows_.extent(0) == 0 || type != rows_type_) {
    rows_ = {};
    rows_ = table_array<std::uint32_t>("shardmark::bench_rows", problem_->rows() * row_words);
    rows_type_ = type;
    const std::int64_t values = problem_->rows() * dim;
    if (type == ValueType::fp32) fill(exec_, reinterpret_cast<float*>(rows_.data()), values);
    if (type == ValueType::fp16) fill(exec_, reinterpret_cast<Fp16*>(rows_.data()), values);
    if (type == ValueType::bf16) fill(exec_, reinterpret_cast<Bf16*>(rows_.data()), values);
    if (type == ValueType::int8) fill_bytes(exec_, {rows_.data(), row_words}, problem_->rows());
  }
  return {rows_.data(), row_words};
}

Array<Exec, float> Suite::state(OptimizerKind kind) {
  if (kind == state_kind_) return state_;
  const std::int64_t size = problem_->rows() * state_per_row(kind, problem_->shape.dim);
  if (static_cast<std::int64_t>(state_.extent(0)) != size) {
    state_kind_ = OptimizerKind::none;
    state_ = {};
    state_ = table_array<float>("shardmark::bench_state", size);
  }
  Kokkos::deep_copy(exec_, state_, 0.0F);
  state_kind_ = kind;
  return state_;
}

double Suite::huge_page_share() const { return kernels::huge_page_share(rows_); }

RowSetting Suite::setting(const std::string& what, const std::function<void(std::size_t, RowSetting)>& run) {
  const auto known = settings_.find(what);
  if (known != settings_.end()) return known->second;
  std::size_t batch = 0;
  const auto next = [&](const RowSetting& setting) { run(batch++ % Problem::batch_count, setting); };
  return settings_[what] = fastest_setting(exec_, 5, next);
}

double Suite::triad_rate() {
  if (triad_rate_ > 0) return triad_rate_;
  const std::int64_t size = (std::int64_t{32} << 20) / options_.divisor;
  const Array<Exec, float> a("a", static_cast<std::size_t>(size)), b("b", a.size()), c("c", a.size());
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 10; ++round)
    best = std::min(best, seconds(exec_, [&] { triad<Exec>(exec_, a, b, c, 3.0F); }));
  return triad_rate_ = static_cast<double>(size * triad_bytes_per_element) / best;
}

void add(const std::string& name, const std::function<void(benchmark::State&)>& run) {
  const auto guarded = [run](benchmark::State& state) {
    try {
      run(state);
    } catch (const std::exception& error) {
      state.SkipWithError(error.what());
    }
  };
  benchmark::RegisterBenchmark(name.c_str(), guarded)->UseManualTime()->Unit(benchmark::kMillisecond);
}

Ceiling gather_ceiling(Suite& suite, const WordRows& rows) {
  if (!suite.options().ceilings) return {};
  const Problem& problem = suite.problem();
  const Array<Exec, std::uint32_t> sink("shardmark::bench_sink",
                                        static_cast<std::size_t>((problem.ids() / smallest_grain + 1) * sum_words));
  const auto run = [&suite, &problem, rows, sink](std::size_t batch, const RowSetting& setting) {
    gather_rows<Exec>(suite.exec(), rows, problem.batches[batch].keys, setting, sink);
  };
  const auto best = suite.setting("gather " + std::to_string(rows.row_words), run);
  return {"gather", [run, best](std::size_t batch) { run(batch, best); }};
}

Ceiling modify_ceiling(Suite& suite, const WordRows& rows, const WordRows& state, bool ascending) {
  if (!suite.options().ceilings) return {};
  const Problem& problem = suite.problem();
  const auto run = [&suite, &problem, rows, state, ascending](std::size_t batch, const RowSetting& setting) {
    const IdBatch& ids = problem.batches[batch];
    modify_rows<Exec>(suite.exec(), rows, state, ascending ? ids.sorted : ids.distinct, setting, zero());
  };
  const std::string name = ascending ? "sorted_rmw" : "rmw";
  const auto best = suite.setting(name + ' ' + std::to_string(rows.row_words + state.row_words), run);
  return {name, [run, best](std::size_t batch) { run(batch, best); }};
}

Ceiling backward_ceiling(Suite& suite, const WordRows& rows, const WordRows& state,
                         const Array<Exec, float>& gradients) {
  if (!suite.options().ceilings) return {};
  const Problem& problem = suite.problem();
  const auto words = allocate<Exec, std::uint64_t>("shardmark::bench_words", problem.ids());
  const auto sorted = allocate<Exec, std::uint64_t>("shardmark::bench_sorted_words", problem.ids());
  const auto bags = allocate<Exec, std::int64_t>("shardmark::bench_bags", problem.bags());
  count_up(suite.exec(), bags);
  const Array<Exec, std::uint32_t> sink("shardmark::bench_sink",
                                        static_cast<std::size_t>((problem.bags() / smallest_grain + 1) * sum_words));
  const WordRows vectors{reinterpret_cast<std::uint32_t*>(gradients.data()), problem.shape.dim};
  const auto read = [&suite, vectors, bags, sink](std::size_t, const RowSetting& setting) {
    gather_rows<Exec>(suite.exec(), vectors, bags, setting, sink);
  };
  const auto best = suite.setting("read gradients", read);
  const auto modify = modify_ceiling(suite, rows, state, true).run;
  return {"backward",
          [&suite, words, sorted, read, best, modify, passes = radix_passes(problem.rows())](std::size_t batch) {
            for (int pass = 0; pass < passes; ++pass) Kokkos::deep_copy(suite.exec(), sorted, words);
            read(batch, best);
            modify(batch);
          }};
}

Ceiling copy_ceiling(Suite& suite, const Work& work) {
  const auto from = allocate<Exec, float>("shardmark::bench_copied", work.bytes() / 8);
  const auto to = allocate<Exec, float>("shardmark::bench_copy", work.bytes() / 8);
  Kokkos::deep_copy(suite.exec(), from, 1.0F);
  return {"copy", [&suite, from, to](std::size_t) { stream_copy<Exec>(suite.exec(), from, to); }};
}

Ceiling gemm_ceiling(Suite& suite, std::int64_t flops) {
  const auto matrices = cached_matrices(suite.exec());
  return {"gemm", [&suite, matrices, flops](std::size_t) { multiply_in_caches<Exec>(suite.exec(), flops, matrices); }};
}

void measure(benchmark::State& state, Suite& suite, const std::function<void(std::size_t batch)>& run, const Work& work,
             const std::vector<Ceiling>& ceilings) {
  const Problem& problem = suite.problem();
  std::vector<double> times;
  std::vector<std::vector<double>> ceiling_times(ceilings.size());
  std::size_t turn = 0;
  const auto next = [&] { return turn++ % Problem::batch_count; };
  for (int warm_up = 0; warm_up < 2; ++warm_up) run(next());
  for (auto _ : state) {
    times.push_back(seconds(suite.exec(), [&, batch = next()] { run(batch); }));
    state.SetIterationTime(times.back());
    for (std::size_t c = 0; suite.options().ceilings && c < ceilings.size(); ++c)
      ceiling_times[c].push_back(seconds(suite.exec(), [&, batch = next()] { ceilings[c].run(batch); }));
  }
  using benchmark::Counter;
  const double middle = median(times);
  const auto rate = [&](std::int64_t count) {
    return Counter(static_cast<double>(count), Counter::kIsIterationInvariantRate);
  };
  state.counters["GB/s"] = Counter(static_cast<double>(work.bytes()) * 1e-9, Counter::kIsIterationInvariantRate);
  state.counters["ids/s"] = rate(problem.ids());
  state.counters["rows/s"] = rate(problem.distinct());
  state.counters["median_us"] = middle * 1e6;
  state.counters["huge_pages_%"] = 100 * suite.huge_page_share();
  if (!suite.options().ceilings) return;
  state.counters["triad_%"] = 100 * static_cast<double>(work.bytes()) / middle / suite.triad_rate();
  for (std::size_t c = 0; c < ceilings.size(); ++c) {
    state.counters[ceilings[c].name + "_us"] = median(ceiling_times[c]) * 1e6;
    state.counters[ceilings[c].name + "_%"] = 100 * median(ceiling_times[c]) / middle;
  }
}

}  // namespace shardmark::kernels::bench
