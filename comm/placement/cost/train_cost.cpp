// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/cost/train_cost.hpp"

#include <algorithm>
#include <cmath>

#include "reference/tensor_train/contraction_work.hpp"

namespace shardmark::placement {
namespace {

/// Different ones of `all` equally likely values among `drawn`.
double different(double all, double drawn) {
  return -all * std::expm1(drawn * std::log1p(-1.0 / std::max(all, 1.0 + 1e-9)));
}

PrefixCounts expected_prefixes(const TensorTrainShape& shape, double rows) {
  PrefixCounts counts{};
  double prefixes = 1.0;
  for (int t = 0; t < shape.cores; ++t) {
    prefixes *= static_cast<double>(shape.p[t]);
    counts[t] = std::llround(std::min(rows, different(prefixes, rows)));
  }
  counts[shape.cores - 1] = std::llround(rows);
  return counts;
}

}  // namespace

TrainWork train_work(const Table& table, double rows) {
  Table train = table;
  train.storage = Storage::tt;
  TensorTrainShape shape = tensor_train_shape(train);
  TrainWork work;
  for (int t = 0; t < shape.cores; ++t) {
    const auto slices = static_cast<double>(shape.p[t]), elements = static_cast<double>(shape.slice_elements(t));
    work.updated_values += different(slices, rows) * elements;
    work.sliced_values += slices * (elements + 1);
  }
  const auto flops = [&](const TensorTrainShape& way) {
    const PrefixCounts prefixes = expected_prefixes(way, rows);
    return std::pair(static_cast<double>(forward_flops(way, prefixes)),
                     static_cast<double>(backward_flops(way, prefixes)));
  };
  std::pair best = flops(shape);
  const std::pair suffix = flops(mirrored(shape));
  const ContractionDirection direction = table.tensor_train.direction;
  const bool cheaper = suffix.first + suffix.second < best.first + best.second;
  if (direction == ContractionDirection::suffix || (direction == ContractionDirection::automatic && cheaper))
    best = suffix;
  std::tie(work.forward_flops, work.backward_flops) = best;
  return work;
}

}  // namespace shardmark::placement
