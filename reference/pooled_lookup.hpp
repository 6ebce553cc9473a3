// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/pooling.hpp"

namespace shardmark::reference {

/// Returns the divisor of the weighted sum of a bag of `count` ids; `weights` is empty when every weight is 1.
inline double bag_divisor(Pooling pooling, std::int64_t count, std::span<const float> weights) {
  if (pooling != Pooling::mean && pooling != Pooling::sqrtn) return 1.0;
  double sum = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double w = weights.empty() ? 1.0 : weights[i];
    sum += pooling == Pooling::mean ? w : w * w;
  }
  return pooling == Pooling::mean ? sum : std::sqrt(sum);
}

/// Holds Pooling::max of one column of a bag: the largest w_i x_i, a product in fp32, and how many ids attain it.
struct Maximum {
  float value = 0.0F;
  std::int64_t ties = 0;

  void see(float product) {
    if (ties == 0 || product > value) *this = {product, 0};
    if (product == value) ++ties;
  }
};

inline float fp32_product(std::span<const float> weights, std::size_t i, float x) {
  return weights.empty() ? x : weights[i] * x;
}

template <class RowOf>
Maximum bag_maximum(RowOf&& row_of, std::span<const std::int64_t> ids, std::span<const float> weights, std::size_t c) {
  Maximum maximum;
  for (std::size_t i = 0; i < ids.size(); ++i)
    maximum.see(fp32_product(weights, i, static_cast<float>(row_of(ids[i])[c])));
  return maximum;
}

/// Pools one bag: output[c] = sum_i w_i row(id_i)[c] / divisor, summed in double, or the maximum; zero for an empty bag
/// or a divisor of 0. row_of(id) gives something indexable by column.
template <class RowOf>
void pool_bag(Pooling pooling, RowOf&& row_of, std::span<const std::int64_t> ids, std::span<const float> weights,
              std::span<float> output) {
  if (pooling == Pooling::max) {
    for (std::size_t c = 0; c < output.size(); ++c) output[c] = bag_maximum(row_of, ids, weights, c).value;
    return;
  }
  std::vector<double> sum(output.size(), 0.0);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto& row = row_of(ids[i]);
    const double w = weights.empty() ? 1.0 : weights[i];
    for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += w * static_cast<double>(row[c]);
  }
  const double divisor = bag_divisor(pooling, std::ssize(ids), weights);
  for (std::size_t c = 0; c < sum.size(); ++c) output[c] = divisor == 0.0 ? 0.0F : static_cast<float>(sum[c] / divisor);
}

/// Pools all bags of one feature. offsets [bags + 1], indices and weights [offsets.back()] (weights may be empty),
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

/// Calls visit(i, c, gradient[c] / divisor) for every id i of a bag and column c: the gradient of w_i x_i. Does not
/// call it where the divisor is 0. For max the divisor is the number of ids that attain the maximum, and only they are
/// visited.
template <class RowOf, class Visit>
void for_each_share(Pooling pooling, RowOf&& row_of, std::span<const std::int64_t> ids, std::span<const float> weights,
                    std::span<const float> gradient, Visit&& visit) {
  const double divisor = bag_divisor(pooling, std::ssize(ids), weights);
  if (divisor == 0.0) return;
  std::vector<Maximum> maxima(pooling == Pooling::max ? gradient.size() : 0);
  for (std::size_t c = 0; c < maxima.size(); ++c) maxima[c] = bag_maximum(row_of, ids, weights, c);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::size_t c = 0; c < gradient.size(); ++c) {
      const double g = gradient[c];
      if (maxima.empty())
        visit(i, c, g / divisor);
      else if (fp32_product(weights, i, static_cast<float>(row_of(ids[i])[c])) == maxima[c].value)
        visit(i, c, g / static_cast<double>(maxima[c].ties));
    }
  }
}

/// Computes the gradient of pooled_lookup with respect to the row of each id of one bag: calls add(i, c, w_i times its
/// share).
template <class RowOf, class Add>
void pool_bag_backward(Pooling pooling, RowOf&& row_of, std::span<const std::int64_t> ids,
                       std::span<const float> weights, std::span<const float> gradient, Add&& add) {
  for_each_share(pooling, row_of, ids, weights, gradient, [&](std::size_t i, std::size_t c, double share) {
    add(i, c, weights.empty() ? share : weights[i] * share);
  });
}

/// Returns the gradient with respect to the weight of each id of one bag, [ids], y being the output:
///   none, sum  sum_c g x_i                            max  the same, over the shares of i
///   mean       sum_c g (x_i - y) / sum_j w_j
///   sqrtn      sum_c g (x_i - y w_i / q) / q,  q = sqrt(sum_j w_j^2)
/// It is zero where the divisor is 0.
template <class RowOf>
std::vector<double> weight_gradients(Pooling pooling, RowOf&& row_of, std::span<const std::int64_t> ids,
                                     std::span<const float> weights, std::span<const float> gradient) {
  std::vector<double> result(ids.size(), 0.0);
  double output = 0.0;  // sum_c g y
  for_each_share(pooling, row_of, ids, weights, gradient, [&](std::size_t i, std::size_t c, double share) {
    const double term = share * static_cast<double>(row_of(ids[i])[c]);
    result[i] += term;
    output += weights.empty() ? term : weights[i] * term;
  });
  const double divisor = bag_divisor(pooling, std::ssize(ids), weights);
  if (divisor == 0.0 || (pooling != Pooling::mean && pooling != Pooling::sqrtn)) return result;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const double w = weights.empty() ? 1.0 : weights[i];
    result[i] -= output / divisor * (pooling == Pooling::mean ? 1.0 : w / divisor);  // the divisor's derivative
  }
  return result;
}

}  // namespace shardmark::reference
