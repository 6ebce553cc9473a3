// SPDX-License-Identifier: Apache-2.0
#include "reference/tensor_train/shape.hpp"

#include <algorithm>

#include "reference/error.hpp"

namespace shardmark {

TensorTrainShape tensor_train_shape(const Table& table) {
  const TensorTrain& asked = table.tensor_train;
  TensorTrainShape shape{.cores = static_cast<int>(asked.cores)};
  if (std::ssize(asked.row_shape) != asked.cores || std::ssize(asked.dim_shape) != asked.cores)
    throw InputError("table " + table.name + ": shapes of cores must be given");
  std::ranges::copy(asked.row_shape, shape.p.begin());
  std::ranges::copy(asked.dim_shape, shape.q.begin());
  shape.r[0] = shape.r[shape.cores] = 1;
  for (int t = 1; t < shape.cores; ++t) shape.r[t] = asked.ranks.size() == 1 ? asked.ranks.front() : asked.ranks[t - 1];
  return shape;
}

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

}  // namespace shardmark
