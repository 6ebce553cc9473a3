// SPDX-License-Identifier: Apache-2.0
// Whole steps of dense models of published sizes, beside their products alone.
#include "kernels/dense/dense_layers.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

#include "kernels/bench/suite.hpp"
#include "kernels/dense/dense_update.hpp"
#include "kernels/dense/gemm.hpp"
#include "reference/dense/dense_parameters.hpp"
#include "reference/dense/dense_work.hpp"

namespace shardmark::kernels::bench {
namespace {

constexpr std::int64_t dense_batch = 2048;

struct DenseCase {
  const char* name;
  DenseSpec spec;
};

/// facebookresearch/dlrm on Criteo Kaggle; the DLRM and the DLRM-DCNv2 of MLPerf.
const std::vector<DenseCase>& dense_cases() {
  static const std::vector<DenseCase> all{
      {"dlrm-kaggle",
       {.kind = DenseKind::dlrm,
        .widths = std::vector<std::int64_t>(26, 16),
        .numerical_features = 13,
        .bottom_mlp = {512, 256, 64, 16},
        .top_mlp = {512, 256, 1}}},
      {"dlrm-mlperf",
       {.kind = DenseKind::dlrm,
        .widths = std::vector<std::int64_t>(26, 128),
        .numerical_features = 13,
        .bottom_mlp = {512, 256, 128},
        .top_mlp = {1024, 1024, 512, 256, 1}}},
      {"dcnv2-mlperf",
       {.kind = DenseKind::dcnv2,
        .widths = std::vector<std::int64_t>(26, 128),
        .numerical_features = 13,
        .bottom_mlp = {512, 256, 128},
        .top_mlp = {1024, 1024, 512, 256, 1},
        .cross_layers = 3,
        .cross_rank = 512}},
  };
  return all;
}

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
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Samples, a model, and its steps.
class DenseSteps {
 public:
  DenseSteps(const DenseSpec& spec, std::int64_t samples)
      : layers_(spec),
        vectors_(normal_numbers(samples * spec.width_of_vectors(), 0.05F)),
        gradients_(vectors_.size()),
        numerical_(normal_numbers(samples * spec.numerical_features, 1.0F)),
        labels_(static_cast<std::size_t>(samples)) {
    float* to = layers_.parameters().data();
    for (const auto& block : reference::initial_dense(spec, 1)) to = std::ranges::copy(block.values, to).out;
    for (std::size_t s = 0; s < labels_.size(); s += 4) labels_[s] = 1.0F;
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
    for (std::int64_t stage = 0; stage < layers_.stages(); ++stage) layers_.backward(batch_, stage);
    dense_update({.kind = OptimizerKind::sgd, .learning_rate = 0x1p-20F}, 1, layers_.parameters(), layers_.gradients(),
                 {}, {});
  }

 private:
  DenseLayers layers_;
  std::vector<float> vectors_, gradients_, numerical_, labels_;
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
    x_ = normal_numbers(samples * widest, 1.0F);
    y_ = x_;
    w_ = normal_numbers(largest, 0.05F);
    dw_ = w_;
  }

  /// Seconds.
  double run() {
    double seconds = 0.0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const auto& [outputs, inputs] = weights_[i];
      const Floats x(x_.data(), samples_, inputs), y(y_.data(), samples_, outputs), w(w_.data(), outputs, inputs);
      seconds += seconds_of([&] { multiply(x, y, w, i > 0 || !first_is_bottom_); });
      std::ranges::fill(x_, 0.5F);  // else they would grow to infinity
      std::ranges::fill(y_, 0.5F);
    }
    return seconds;
  }

 private:
  void multiply(Floats x, Floats y, Floats w, bool needs_dx) {
    for_each_part(samples_, 16, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
      product_transposed(x.row_range(begin, end), w, y.row_range(begin, end));
    });
    if (needs_dx)
      for_each_part(samples_, 16, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
        product(y.row_range(begin, end), w, x.row_range(begin, end));
      });
    product_of_transposed(y, x, Floats(dw_.data(), w.rows, w.columns));
  }

  std::int64_t samples_;
  bool first_is_bottom_ = false;
  std::vector<std::pair<std::int64_t, std::int64_t>> weights_;
  std::vector<float> x_, y_, w_, dw_;
};

double median_of(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

}  // namespace

void add_dense_layers(Suite& suite) {
  const std::int64_t samples = scaled(dense_batch, suite.options());
  for (const DenseCase& of : dense_cases())
    add("dense_step/case:" + std::string(of.name) + "/batch:" + std::to_string(samples) + "/optimizer:sgd",
        [&suite, &of, samples](benchmark::State& state) {
          DenseSteps steps(of.spec, samples);
          DenseProducts products(of.spec, samples);
          steps.step();
          products.run();
          std::vector<double> own, alone;
          for (auto _ : state) {
            own.push_back(seconds_of([&] { steps.step(); }));
            state.SetIterationTime(own.back());
            if (suite.options().ceilings) alone.push_back(products.run());
          }
          const double flops = static_cast<double>(dense_work(of.spec).flops() * samples);
          state.counters["median_us"] = 1e6 * median_of(own);
          state.counters["GFLOP/s"] = 1e-9 * flops / median_of(own);
          if (alone.empty()) return;
          state.counters["gemm_us"] = 1e6 * median_of(alone);
          state.counters["gemm_%"] = 100.0 * median_of(alone) / median_of(own);
        });
}

}  // namespace shardmark::kernels::bench
