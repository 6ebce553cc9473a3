// SPDX-License-Identifier: Apache-2.0
#include "reference/dense/hidden_labels.hpp"

#include <algorithm>
#include <cmath>

#include "reference/counter_random.hpp"
#include "reference/dense/loss.hpp"

namespace shardmark::reference {
namespace {

constexpr std::int64_t of_the_labels = -3;  // where the values of tables have the number of theirs
enum Draw : std::int64_t { draw_row, draw_numerical, draw_label };

}  // namespace

std::vector<double> HiddenLabels::scores(std::span<const Feature> features, const Batch& batch,
                                         const Matrix<float>& numerical) const {
  std::vector<double> sums(static_cast<std::size_t>(batch.samples), 0.0);
  for (std::int64_t f = 0; f < batch.features; ++f)
    for (std::int64_t s = 0; s < batch.samples; ++s) {
      const auto first = batch.offsets[f * batch.samples + s], last = batch.offsets[f * batch.samples + s + 1];
      for (auto i = first; i < last; ++i)
        sums[s] += standard_normal(random_bits(seed, of_the_labels, draw_row, features[f].table, batch.indices[i])) /
                   static_cast<double>(last - first);
    }
  for (std::int64_t s = 0; s < batch.samples; ++s)
    for (std::int64_t d = 0; d < numerical.columns; ++d)
      sums[s] += standard_normal(random_bits(seed, of_the_labels, draw_numerical, d)) *
                 (static_cast<double>(numerical.at(s, d)) - numerical_mean) / numerical_deviation;
  const auto terms = static_cast<double>(std::max<std::int64_t>(batch.features + numerical.columns, 1));
  for (double& t : sums) t *= strength / std::sqrt(terms);
  return sums;
}

std::vector<float> HiddenLabels::labels(std::span<const double> scores, std::int64_t first_sample) const {
  std::vector<float> labels;
  for (const double t : scores) {
    const auto sample = first_sample + std::ssize(labels);
    const double drawn = unit_interval(random_bits(seed, of_the_labels, draw_label, sample));
    labels.push_back(drawn < sigmoid(t) ? 1.0F : 0.0F);
  }
  return labels;
}

}  // namespace shardmark::reference
