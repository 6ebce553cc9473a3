// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/dense_half.hpp"

#include <fmt/format.h>

#include <numeric>

namespace shardmark {
namespace {

/// Adds an MLP, and says how wide its output is.
std::int64_t add_mlp(std::int64_t inputs, const std::vector<std::int64_t>& layers, DenseWork& work) {
  for (const std::int64_t outputs : layers) {
    work.parameters += inputs * outputs + outputs;
    work.forward_flops += 2 * inputs * outputs;
    inputs = outputs;
  }
  return inputs;
}

std::int64_t add_dot(bool bottom, std::int64_t bottom_width, std::span<const std::int64_t> widths, DenseWork& work) {
  const std::int64_t dim = bottom ? bottom_width : widths.empty() ? 0 : widths.front();
  for (std::size_t f = 0; f < widths.size(); ++f)
    if (widths[f] != dim)
      throw InputError(fmt::format("dense: dot needs vectors of one dim; feature {} gives {}, {} gives {}", f,
                                   widths[f], bottom ? "the bottom MLP" : "the first one", dim));
  const std::int64_t vectors = std::ssize(widths) + (bottom ? 1 : 0);
  const std::int64_t pairs = vectors * (vectors - 1) / 2;
  work.forward_flops += pairs * 2 * dim;
  return pairs + bottom_width;
}

std::int64_t add_cross(const DenseHalf& dense, std::int64_t width, DenseWork& work) {
  work.parameters += dense.cross_layers * (2 * width * dense.cross_rank + width);
  work.forward_flops += dense.cross_layers * (4 * width * dense.cross_rank + 3 * width);
  return width;
}

std::int64_t add_average(std::int64_t stride, std::int64_t width, DenseWork& work) {
  if (stride <= 1) return width;
  work.forward_flops += width;
  return (width + stride - 1) / stride;
}

/// Adds the interaction, and says how wide the input of the top MLP is.
std::int64_t add_interaction(const DenseHalf& dense, std::int64_t bottom_width, std::span<const std::int64_t> widths,
                             DenseWork& work) {
  if (dense.interaction == Interaction::dot) return add_dot(!dense.bottom_mlp.empty(), bottom_width, widths, work);
  const std::int64_t width = std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
  if (dense.interaction == Interaction::cross) return add_cross(dense, width + bottom_width, work);
  return add_average(dense.stride, width, work) + bottom_width;
}

}  // namespace

DenseWork dense_work(const DenseHalf& dense, std::span<const std::int64_t> widths) {
  DenseWork work;
  const std::int64_t bottom_width = add_mlp(dense.numerical_features, dense.bottom_mlp, work);
  add_mlp(add_interaction(dense, bottom_width, widths, work), dense.top_mlp, work);
  const std::int64_t unneeded = dense.bottom_mlp.empty() ? 0 : 2 * dense.numerical_features * dense.bottom_mlp.front();
  work.backward_flops = 2 * work.forward_flops - unneeded;
  return work;
}

}  // namespace shardmark
