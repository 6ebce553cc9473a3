// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "datasets/sample_source.hpp"
#include "workloads/cases/options.hpp"

namespace shardmark::workloads {

/// Returns the number of numerical features per sample that the dense model of the options takes: those of the
/// workload's spec, 0 without one.
std::int64_t numerical_features(const RunOptions& options);

/// Gives generated samples, the first of which has number `first` of all there are, numerical features from N(0, 1) and
/// labels of a hidden linear model of these and the ids (reference/dense/hidden_labels.hpp). Both are keyed by the seed
/// and the number of the sample: the same on any number of ranks.
void add_learnable(const RunOptions& options, std::int64_t first, datasets::Samples& samples);

/// Transforms what was read from options.data.file to what a dense model takes: integers by log_transform(). Throws
/// InputError naming the file when it has no labels, or another number of numerical features than the model.
void transform_numerical(const RunOptions& options, datasets::Samples& samples);

}  // namespace shardmark::workloads
