// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/pooling.hpp"

namespace shardmark::reference {

/// What the weighted sum of a bag of `count` ids is divided by; `weights` is empty when every weight is 1.
inline double bag_divisor(Pooling pooling, std::int64_t count, std::span<const float> weights) {
  if (pooling == Pooling::none || pooling == Pooling::sum) return 1.0;
  double sum = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double w = weights.empty() ? 1.0 : weights[static_cast<std::size_t>(i)];
    sum += pooling == Pooling::mean ? w : w * w;
  }
  return pooling == Pooling::mean ? sum : std::sqrt(sum);
}

/// One bag: output[c] = sum_i w_i row(id_i)[c] / divisor, summed in double; zero for an empty bag or a divisor of 0.
/// row_of(id) gives something indexable by column.
template <class RowOf>
void pool_bag(Pooling pooling, RowOf&& row_of, std::span<const std::int64_t> ids, std::span<const float> weights,
              std::span<float> output) {
  std::vector<double> sum(output.size(), 0.0);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto& row = row_of(ids[i]);
    const double w = weights.empty() ? 1.0 : weights[i];
    for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += w * static_cast<double>(row[c]);
  }
  const double divisor = bag_divisor(pooling, std::ssize(ids), weights);
  for (std::size_t c = 0; c < sum.size(); ++c) output[c] = divisor == 0.0 ? 0.0F : static_cast<float>(sum[c] / divisor);
}

/// All bags of one feature. offsets [bags + 1], indices and weights [offsets.back()] (weights may be empty),
/// output [bags, dim], or [nnz, dim] for Pooling::none.
template <class RowOf>
void pooled_lookup(Pooling pooling, RowOf&& row_of, std::span<const std::int64_t> offsets,
                   std::span<const std::int64_t> indices, std::span<const float> weights, std::int64_t dim,
                   std::span<float> output) {
  const auto width = static_cast<std::size_t>(dim);
  const auto pool = [&](std::size_t begin, std::size_t count, std::size_t bag) {
    pool_bag(pooling, row_of, indices.subspan(begin, count), weights.empty() ? weights : weights.subspan(begin, count),
             output.subspan(bag * width, width));
  };
  if (pooling == Pooling::none) {
    for (std::size_t i = 0; i < indices.size(); ++i) pool(i, 1, i);
    return;
  }
  for (std::size_t bag = 0; bag + 1 < offsets.size(); ++bag)
    pool(static_cast<std::size_t>(offsets[bag]), static_cast<std::size_t>(offsets[bag + 1] - offsets[bag]), bag);
}

/// The gradient of pooled_lookup with respect to the row of each id of one bag:
/// add(i, c, w_i * gradient[c] / divisor) for every id i and column c; nothing where the divisor is 0.
template <class Add>
void pool_bag_backward(Pooling pooling, std::int64_t count, std::span<const float> weights,
                       std::span<const float> gradient, Add&& add) {
  const double divisor = bag_divisor(pooling, count, weights);
  if (divisor == 0.0) return;
  for (std::int64_t i = 0; i < count; ++i) {
    const double w = weights.empty() ? 1.0 : weights[static_cast<std::size_t>(i)];
    for (std::size_t c = 0; c < gradient.size(); ++c)
      add(i, static_cast<std::int64_t>(c), w * (static_cast<double>(gradient[c]) / divisor));
  }
}

}  // namespace shardmark::reference
