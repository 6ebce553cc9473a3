// SPDX-License-Identifier: Apache-2.0
#include "kernels/tensor_train/cores.hpp"

#include "kernels/instantiate.hpp"

namespace shardmark::kernels {

/// Returns the column outside of each column of a tensor train: the same, or with its digits in reverse order.
static std::vector<std::int32_t> columns_outside(const TensorTrainCores& cores) {
  const TensorTrainShape& shape = cores.shape;
  std::vector<std::int32_t> columns(static_cast<std::size_t>(cores.dim));
  for (std::int64_t c = 0; c < cores.dim; ++c) {
    std::int64_t rest = c, outside = 0;
    for (int t = shape.cores - 1; t >= 0; --t) {
      outside = outside * shape.q[t] + rest % shape.q[t];
      rest /= shape.q[t];
    }
    columns[c] = static_cast<std::int32_t>(cores.mirrored ? outside : c);
  }
  return columns;
}

template <class Exec>
TensorTrains<Exec> tensor_trains(const Exec& exec, const std::vector<TensorTrainCores>& cores) {
  TensorTrains<Exec> tts;
  tts.tables = shard_list(exec, cores);
  std::vector<std::int32_t> columns(static_cast<std::size_t>(std::ssize(cores) * tts.tables.largest_dim));
  for (std::int64_t table = 0; const TensorTrainCores& of : cores) {
    std::ranges::copy(columns_outside(of), columns.begin() + table++ * tts.tables.largest_dim);
    tts.levels = std::max(tts.levels, of.shape.cores);
    tts.converts |= of.value_type != ValueType::fp32;
    for (int t = 0; t < of.shape.cores; ++t) {
      tts.slices = std::max(tts.slices, of.first_slice[t] + of.shape.p[t]);
      const CoreStep step = of.step(t);
      tts.elements += of.shape.p[t] * step.padded_slice();
      auto& largest = tts.largest[of.shape.cores - 1 - t];
      largest.left = std::max(largest.left, step.left());
      largest.product = std::max(largest.product, step.product());
      largest.slice = std::max(largest.slice, step.slice());
      largest.tile_left = std::max(largest.tile_left, step.tile() * step.left());
      largest.tile_product = std::max(largest.tile_product, step.tile() * step.product());
    }
  }
  tts.columns = array_of(exec, columns, "shardmark::tensor_train_columns");
  return tts;
}

SHARDMARK_INSTANCE(tensor_trains<DefaultSpace>)

}  // namespace shardmark::kernels
