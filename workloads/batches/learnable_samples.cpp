// SPDX-License-Identifier: Apache-2.0
#include "workloads/batches/learnable_samples.hpp"

#include <fmt/format.h>

#include <utility>

#include "reference/counter_random.hpp"
#include "reference/dense/dense_input.hpp"
#include "reference/dense/hidden_labels.hpp"

namespace shardmark::workloads {

std::int64_t numerical_features(const RunOptions& options) {
  return options.workload.dense ? options.workload.dense->numerical_features : 0;
}

void add_learnable(const RunOptions& options, std::int64_t first, datasets::Samples& samples) {
  constexpr std::int64_t of_numerical = -4;  // where the values of tables have the number of theirs
  const Batch& batch = samples.batch;
  reference::Matrix<float> numerical(batch.samples, numerical_features(options));
  for (std::int64_t s = 0; s < batch.samples; ++s)
    for (std::int64_t d = 0; d < numerical.columns; ++d)
      numerical.at(s, d) = static_cast<float>(standard_normal(random_bits(options.seed, of_numerical, first + s, d)));
  const reference::HiddenLabels hidden{.seed = options.seed};
  samples.labels = hidden.labels(hidden.scores(options.workload.features, batch, numerical), first);
  samples.dense = std::move(numerical.values);
}

void transform_numerical(const RunOptions& options, datasets::Samples& samples) {
  const auto count = samples.batch.samples, taken = numerical_features(options);
  if (std::ssize(samples.labels) != count)
    throw InputError(fmt::format("{}: its samples have no labels, which --dense {} needs", options.data.file,
                                 name_of(options.dense.kind)));
  if (has_layers(options.dense.kind) && std::ssize(samples.dense) != count * taken)
    throw InputError(fmt::format("{}: its samples have {} numerical features, the dense model of {} takes {}",
                                 options.data.file, count > 0 ? std::ssize(samples.dense) / count : 0,
                                 options.workload.name, taken));
  for (float& x : samples.dense) x = reference::log_transform(x);
}

}  // namespace shardmark::workloads
