// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>

#include "kernels/tensor_train/prefix_tree.hpp"
#include "workloads/tables/tensor_train/tt_store.hpp"

namespace shardmark::workloads {
namespace {

/// Counts what `rows` distinct rows, worked on together, keep between cores and rows (contract_rows.hpp,
/// slice_gradients.cpp).
struct PassBytes {
  double products = 0.0;  ///< of prefixes that end two or more cores before the last
  double shares = 0.0;    ///< of the gradients of prefixes and rows for the cores before them and for the last one
  double sums = 0.0;      ///< of slices, one of each run of nodes

  double forward() const { return products; }
  double backward() const { return products + shares + sums; }
};

PassBytes pass_bytes(const TensorTrainShape& shape, double rows) {
  constexpr double longest_run = 64;  // of nodes with one slice
  const int last = shape.cores - 1;
  PassBytes bytes;
  double prefixes = 1.0, before = 1.0;
  for (int t = 0; t <= last; ++t) {
    prefixes *= static_cast<double>(shape.p[t]);
    const double nodes = std::min(prefixes, rows), slice = static_cast<double>(shape.slice_elements(t));
    const double runs = std::min(nodes, static_cast<double>(shape.p[t]) + nodes / longest_run);
    if (t > 0 && t < last - 1) bytes.products += 4.0 * nodes * before * slice / static_cast<double>(shape.r[t]);
    if (t > 0 && t < last) bytes.shares += 4.0 * nodes * before * static_cast<double>(shape.r[t]);
    if (t == last) bytes.shares += 4.0 * nodes * slice;
    bytes.sums += 4.0 * runs * slice;
    before *= static_cast<double>(shape.q[t]);
  }
  return bytes;
}

/// Returns the bytes of the sums of all slices that so many rows touch.
double slice_sum_bytes(const TensorTrainShape& shape, double rows) {
  double bytes = 0.0;
  for (int t = 0; t < shape.cores; ++t)
    bytes += 4.0 * std::min(rows, static_cast<double>(shape.p[t])) * static_cast<double>(shape.slice_elements(t));
  return bytes;
}

}  // namespace

double tt_step_bytes(const Table& table, double ids, double distinct) {
  const TensorTrainShape shape = tensor_train_shape(table);
  const double row = 4.0 * static_cast<double>(table.dim);
  const double budget = 0x1p20 * static_cast<double>(table.tensor_train.workspace_mib);
  double bytes = ids * 64 + distinct * (64 + 2 * row);  // keys, their sort, numbers; rows and gradients
  bytes += distinct * 2 * 120 * (shape.cores - 1);      // nodes and runs of both trees
  const PassBytes all = pass_bytes(shape, distinct), block = pass_bytes(shape, kernels::tree_block);
  bytes += std::min(all.forward(), std::max(budget, block.forward()));
  bytes += std::min(all.backward(), std::max(budget, block.backward()));
  if (distinct > kernels::tree_block) bytes += slice_sum_bytes(shape, distinct);  // added up behind each pass
  if (!table.tensor_train.fused_update) bytes += slice_sum_bytes(shape, distinct);
  if (table.tensor_train.cache.rows > 0) bytes += ids * 56 + distinct * 80;  // what is found, and what is missed
  return bytes;
}

}  // namespace shardmark::workloads
