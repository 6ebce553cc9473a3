// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/dense/dense_memory.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/dense/dense_layers.hpp"
#include "reference/dense/dense_spec.hpp"
#include "reference/row_values.hpp"
#include "workloads/batches/learnable_samples.hpp"
#include "workloads/cases/dense_spec_of.hpp"
#include "workloads/measure/dense/expected_dense.hpp"

namespace shardmark::workloads {
namespace {

/// Returns the bytes per weight in the reference: values, bounds and state, of which each block keeps its first values
/// too; the same with errors; gradients of each thread, and of one part of the samples.
double reference_bytes_per_parameter(const Optimizer& optimizer) {
  const auto state = static_cast<double>(choice_of(optimizer.kind).vectors);
  const double threads = kernels::HostThreads().concurrency();
  return 1.5 * 8 * (1 + state) + 4 + 16 + threads * (16 + 3 * 16) + 16;
}

}  // namespace

double input_bytes(const RunOptions& options, const InputSizes& sizes) {
  const bool shared = std::ranges::all_of(options.workload.features, has_bag_per_sample);
  const auto batches = static_cast<double>(sizes.batches);
  const auto gradients =
      static_cast<double>(shared ? std::min(sizes.batches, GradientValues::distinct_steps) : sizes.batches);
  const auto numbers = options.dense.kind == DenseKind::none ? 0 : numerical_features(options) + 1;
  return gradients * sizes.output_bytes + batches * 24 * sizes.ids +
         batches * 4 * static_cast<double>(numbers * sizes.samples);
}

NeededMemory dense_bytes(const RunOptions& options, int ranks, std::int64_t samples) {
  const DenseKind kind = options.dense.kind;
  if (kind == DenseKind::none) return {};
  const auto widths = output_widths(options.workload);
  const auto width = static_cast<double>(std::reduce(widths.begin(), widths.end()));
  const auto own = static_cast<double>(samples), all = static_cast<double>(options.workload.global_batch);
  double bytes = 4 * own * width;
  double reference = 8 * own * width + 8 * (ranks > 1 ? all : own) * width;
  if (has_layers(kind)) {
    const DenseSpec spec = dense_spec_of(options.workload, kind);
    const Optimizer optimizer = options.dense.optimizer_of_weights();
    const auto parameters = static_cast<double>(dense_work(spec).parameters);
    const auto numbers = static_cast<double>(kernels::dense_numbers_per_sample(spec));
    const auto vectors = static_cast<double>(2 + choice_of(optimizer.kind).vectors);
    bytes += 4 * parameters * vectors + 4 * 1.125 * own * numbers;
    constexpr double copies = 4;  // of what a pass keeps, while it goes on
    const auto at_once = static_cast<double>(ExpectedDense::samples_at_once) * kernels::HostThreads().concurrency();
    reference += parameters * reference_bytes_per_parameter(optimizer) + copies * 16 * at_once * numbers;
  }
  return {.arrays = bytes, .host = options.checked_steps > 0 ? reference : 0.0};
}

}  // namespace shardmark::workloads
