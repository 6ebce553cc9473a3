// SPDX-License-Identifier: Apache-2.0
// Whole steps of dense models of published sizes, beside their products alone and products in the caches.
#include "kernels/dense/dense_layers.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

#include "kernels/bench/dense_cases.hpp"
#include "kernels/bench/suite.hpp"
#include "kernels/dense/dense_update.hpp"
#include "kernels/dense/gemm.hpp"
#include "reference/dense/dense_parameters.hpp"
#include "reference/dense/dense_spec.hpp"

namespace shardmark::kernels::bench {
namespace {

std::vector<float> normal_numbers(std::int64_t count, float scale) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0F, scale);
  std::vector<float> values(static_cast<std::size_t>(count));
  std::ranges::generate(values, [&] { return normal(random); });
  return values;
}

template <class Run>
double seconds_of(const Run& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  DenseExecution().fence("bench: a step of a dense model is complete");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Copies values to where models are computed.
Array<DenseExecution, float> in_place(const std::vector<float>& values) {
  return array_of(DenseExecution(), values, "bench::dense");
}

/// Samples, a model, and its steps.
class DenseSteps {
 public:
  DenseSteps(const DenseSpec& spec, std::int64_t samples, OptimizerKind optimizer)
      : layers_(spec),
        optimizer_{.kind = optimizer, .learning_rate = 0x1p-20F},
        state_(in_place(std::vector<float>(optimizer == OptimizerKind::sgd ? 0 : layers_.parameters().extent(0)))),
        vectors_(in_place(normal_numbers(samples * spec.width_of_vectors(), 0.05F))),
        gradients_(in_place(std::vector<float>(vectors_.extent(0)))),
        numerical_(in_place(normal_numbers(samples * spec.numerical_features, 1.0F))) {
    std::vector<float> parameters, labels(static_cast<std::size_t>(samples));
    for (const auto& block : reference::initial_dense(spec, 1))
      parameters.insert(parameters.end(), block.values.begin(), block.values.end());
    Kokkos::deep_copy(layers_.parameters(), in_place(parameters));
    for (std::size_t s = 0; s < labels.size(); s += 4) labels[s] = 1.0F;
    labels_ = in_place(labels);
    std::int64_t first = 0;
    for (const std::int64_t width : spec.widths) {
      inputs_.emplace_back(vectors_.data() + first, samples, width);
      outputs_.emplace_back(gradients_.data() + first, samples, width);
      first += samples * width;
    }
    batch_ = {samples,        samples, inputs_, {numerical_.data(), samples, spec.numerical_features},
              labels_.data(), outputs_};
  }

  void step() {
    layers_.forward(batch_);
    layers_.backward(batch_, 0, layers_.stages());
    dense_update(optimizer_, 1, layers_.parameters(), layers_.gradients(), state_, {});
  }

 private:
  DenseLayers layers_;
  Optimizer optimizer_;
  Array<DenseExecution, float> state_, vectors_, gradients_, numerical_, labels_;
  std::vector<ConstFloats> inputs_;
  std::vector<Floats> outputs_;
  DenseBatch batch_;
};

/// The products of a step alone: of every layer forward and for both gradients, but that of the numerical features.
class DenseProducts {
 public:
  DenseProducts(const DenseSpec& spec, std::int64_t samples) : samples_(samples) {
    for (const auto& block : reference::dense_blocks(spec))
      if (block.columns > 1 || block.name.ends_with("weight")) weights_.push_back({block.rows, block.columns});
    first_is_bottom_ = !spec.bottom_mlp.empty();
    std::int64_t widest = 1, largest = 1;
    for (const auto& [rows, columns] : weights_) {
      widest = std::max({widest, rows, columns});
      largest = std::max(largest, rows * columns);
    }
    x_ = in_place(normal_numbers(samples * widest, 1.0F));
    y_ = in_place(normal_numbers(samples * widest, 1.0F));
    w_ = in_place(normal_numbers(largest, 0.05F));
    dw_ = in_place(normal_numbers(largest, 0.05F));
  }

  /// Seconds.
  double run() {
    double seconds = 0.0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const auto& [outputs, inputs] = weights_[i];
      const Floats x(x_.data(), samples_, inputs), y(y_.data(), samples_, outputs), w(w_.data(), outputs, inputs);
      seconds += seconds_of([&] { multiply(x, y, w, i > 0 || !first_is_bottom_); });
      Kokkos::deep_copy(x_, 0.5F);  // else they would grow to infinity
      Kokkos::deep_copy(y_, 0.5F);
    }
    return seconds;
  }

 private:
  void multiply(Floats x, Floats y, Floats w, bool needs_dx) {
    in_parts(samples_, 16, [&](std::int64_t begin, std::int64_t end) {
      product_transposed(x.row_range(begin, end), w, y.row_range(begin, end));
    });
    if (needs_dx)
      in_parts(samples_, 16, [&](std::int64_t begin, std::int64_t end) {
        product(y.row_range(begin, end), w, x.row_range(begin, end));
      });
    product_of_transposed(y, x, Floats(dw_.data(), w.rows, w.columns));
  }

  std::int64_t samples_;
  bool first_is_bottom_ = false;
  std::vector<std::pair<std::int64_t, std::int64_t>> weights_;
  Array<DenseExecution, float> x_, y_, w_, dw_;
};

double median_of(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

/// GFLOP/s of products from the nearest caches.
class CachedProducts {
 public:
  double rate() const {
    std::int64_t done = 0;
    const double took = seconds_of([&] { done = multiply_in_caches(exec_, 1'000'000'000, matrices_); });
    return 1e-9 * static_cast<double>(done) / took;
  }

 private:
  DenseExecution exec_;
  Array<DenseExecution, float> matrices_ = cached_matrices(exec_);
};

void measure_steps(benchmark::State& state, const Suite& suite, const DenseSpec& spec, OptimizerKind optimizer) {
  const std::int64_t samples = scaled_batch(dense_batch, suite.options());
  DenseSteps steps(spec, samples, optimizer);
  DenseProducts products(spec, samples);
  const CachedProducts cached;
  steps.step();
  products.run();
  std::vector<double> own, alone, peak;
  for (auto _ : state) {
    own.push_back(seconds_of([&] { steps.step(); }));
    state.SetIterationTime(own.back());
    if (!suite.options().ceilings) continue;
    alone.push_back(products.run());
    peak.push_back(cached.rate());
  }
  const double rate = 1e-9 * static_cast<double>(dense_work(spec).flops() * samples) / median_of(own);
  state.counters["median_us"] = 1e6 * median_of(own);
  state.counters["GFLOP/s"] = rate;
  if (alone.empty()) return;
  state.counters["gemm_us"] = 1e6 * median_of(alone);
  state.counters["gemm_%"] = 100.0 * median_of(alone) / median_of(own);
  state.counters["peak_GFLOP/s"] = median_of(peak);
  state.counters["peak_%"] = 100.0 * rate / median_of(peak);
}

}  // namespace

void add_dense_layers(Suite& suite) {
  const std::string batch = std::to_string(scaled_batch(dense_batch, suite.options()));
  for (const DenseCase& of : dense_cases())
    for (const OptimizerKind optimizer : {OptimizerKind::sgd, OptimizerKind::adagrad})
      add("dense_step/case:" + std::string(of.name) + "/batch:" + batch +
              "/optimizer:" + std::string(name_of(optimizer)),
          [&, optimizer](benchmark::State& state) { measure_steps(state, suite, of.spec, optimizer); });
}

}  // namespace shardmark::kernels::bench
