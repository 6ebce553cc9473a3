// SPDX-License-Identifier: Apache-2.0
#include "reference/tensor_train/stored_cores.hpp"

#include <algorithm>
#include <cmath>

#include "reference/storage.hpp"
#include "reference/tensor_train/cached_tt.hpp"
#include "reference/tensor_train/contraction.hpp"

namespace shardmark::reference {
namespace {

PrefixCounts expected_prefixes(const TensorTrainShape& shape, double rows) {
  PrefixCounts counts{};
  double prefixes = 1.0;
  for (int t = 0; t < shape.cores; ++t) {
    prefixes *= static_cast<double>(shape.p[t]);
    counts[t] = std::llround(std::min(rows, expected_distinct(prefixes, rows)));
  }
  counts[shape.cores - 1] = std::llround(rows);
  return counts;
}

LookupFlops flops_of(const TensorTrainShape& shape, double rows) {
  const PrefixCounts prefixes = expected_prefixes(shape, rows);
  return {static_cast<double>(forward_flops(shape, prefixes)), static_cast<double>(backward_flops(shape, prefixes))};
}

}  // namespace

std::vector<Table> core_tables(const Table& table) {
  const TensorTrainShape shape = tensor_train_shape(table);
  std::vector<Table> cores;
  for (int t = 0; t < shape.cores; ++t)
    cores.push_back({.name = table.name + " core " + std::to_string(t),
                     .rows = shape.p[t],
                     .dim = shape.slice_elements(t),
                     .optimizer = table.optimizer,
                     .value_type = table.value_type,
                     .stochastic_rounding = table.stochastic_rounding});
  return cores;
}

std::vector<std::vector<std::int64_t>> slices_of(const Table& table, std::span<const std::int64_t> rows) {
  const TensorTrainShape shape = tensor_train_shape(table);
  std::vector<std::vector<std::int64_t>> slices(static_cast<std::size_t>(shape.cores));
  for (const std::int64_t row : rows) {
    const auto digits = shape.digits(row);
    for (std::size_t t = 0; t < slices.size(); ++t) slices[t].push_back(digits[t]);
  }
  return slices;
}

Table cached_rows(const Table& table) {
  const RowCache& cache = table.tensor_train.cache;
  return {.name = table.name + " cached rows",
          .rows = cache.rows,
          .dim = table.dim,
          .optimizer = cache.writes == CacheWrites::trained ? table.optimizer : Optimizer{.kind = OptimizerKind::none}};
}

std::unique_ptr<ComputedRows> computed_by_cores(const Table& table, std::int64_t number, const RowValues& initial) {
  return std::make_unique<CachedTt>(table, number, initial);
}

LookupFlops contraction_flops(const Table& table, double rows) {
  const TensorTrainShape shape = tensor_train_shape(table);
  const LookupFlops prefix = flops_of(shape, rows), suffix = flops_of(mirrored(shape), rows);
  const ContractionDirection direction = table.tensor_train.direction;
  const bool cheaper = suffix.forward + suffix.backward < prefix.forward + prefix.backward;
  return direction == ContractionDirection::suffix || (direction == ContractionDirection::automatic && cheaper)
             ? suffix
             : prefix;
}

}  // namespace shardmark::reference
