// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/batch.hpp"
#include "reference/dense/matrix.hpp"
#include "reference/table.hpp"

namespace shardmark::reference {

/// Draws labels that a model can learn: those of a hidden logistic regression on ids and numerical features. With
/// w(table, row), v(feature) from N(0, 1) and F features, D numerical features n,
///   t = strength / sqrt(F + D) (sum over features of the mean of w over the ids of the bag
///                               + sum of v (n - numerical_mean) / numerical_deviation)
///   label = 1 with the probability sigmoid(t), else 0
/// where all that is drawn is keyed by the seed: w by table and row, so that features that share a table agree on its
/// rows, v by feature, and labels by the number of the sample. So every rank draws the same, and a batch that comes
/// again has the same labels. An empty bag adds 0. With normalised numerical features about half the labels are 1, and
/// the best AUC is that of t (0.95 at strength 4 with an id in each bag).
struct HiddenLabels {
  std::uint64_t seed = 0;
  double strength = 4.0;
  double numerical_mean = 0.0, numerical_deviation = 1.0;

  /// Returns t of each sample. features: of the batch; numerical [samples, D]. Weights of ids are not used.
  std::vector<double> scores(std::span<const Feature> features, const Batch& batch,
                             const Matrix<float>& numerical) const;

  /// Returns the labels of the samples [first_sample, ..) whose t is given.
  std::vector<float> labels(std::span<const double> scores, std::int64_t first_sample) const;
};

}  // namespace shardmark::reference
