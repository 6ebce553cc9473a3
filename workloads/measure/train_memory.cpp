// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/train_memory.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/tensor_train/prefix_tree.hpp"
#include "reference/tensor_train/shape.hpp"

namespace shardmark {
namespace {

/// Of products between cores and rows, all nodes at once: a slice of the last core for each row, and for each shorter
/// prefix what it keeps and gives to the one before it.
double product_bytes(const TensorTrainShape& shape, double distinct) {
  double bytes = 4.0 * distinct * static_cast<double>(shape.slice_elements(shape.cores - 1));
  double prefixes = 1.0, columns = 1.0;
  for (int t = 0; t + 1 < shape.cores; ++t) {
    prefixes *= static_cast<double>(shape.p[t]);
    columns *= static_cast<double>(shape.q[t]);
    bytes += 8.0 * std::min(prefixes, distinct) * columns * static_cast<double>(shape.r[t + 1]);
  }
  return bytes;
}

/// Of the gradients that blocks of rows give to slices before they are added up.
double slice_gradient_bytes(const TensorTrainShape& shape, double distinct) {
  const double blocks = std::ceil(distinct / static_cast<double>(kernels::tree_block));
  double bytes = 0.0;
  for (int t = 0; t < shape.cores; ++t)
    bytes += 4.0 * std::min(distinct, blocks * static_cast<double>(shape.p[t])) *
             static_cast<double>(shape.slice_elements(t));
  return bytes;
}

}  // namespace

double train_step_bytes(const Table& table, double ids, double distinct) {
  const TensorTrainShape shape = tensor_train_shape(table);
  const double row = 4.0 * static_cast<double>(table.dim);
  const double budget = 0x1p20 * static_cast<double>(table.tensor_train.workspace_mib);
  double bytes = ids * 64 + distinct * (64 + 2 * row);  // keys, their sort, numbers; rows and gradients
  bytes += distinct * 2 * 120 * (shape.cores - 1);      // nodes and runs of both trees
  bytes += 2 * std::min(product_bytes(shape, distinct),
                        std::max(budget, product_bytes(shape, static_cast<double>(kernels::tree_block))));
  bytes += slice_gradient_bytes(shape, distinct);
  if (!table.tensor_train.fused_update) bytes += slice_gradient_bytes(shape, distinct);
  if (table.tensor_train.cache.rows > 0) bytes += ids * 56 + distinct * 80;  // what is found, and what is missed
  return bytes;
}

double train_sum_bytes(const Table& table) {
  const TensorTrainShape shape = tensor_train_shape(table);
  return 8.0 * static_cast<double>(shape.parameters() + shape.slices());
}

}  // namespace shardmark
