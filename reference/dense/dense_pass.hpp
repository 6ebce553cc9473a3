// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/dense/dense_input.hpp"
#include "reference/dense/layers.hpp"
#include "reference/dense/loss.hpp"

namespace shardmark::reference {

/// Splits the blocks of a model, or their gradients, by part.
template <class Block>
struct DenseParts {
  std::span<Block> bottom, cross, top;

  DenseParts(const DenseSpec& spec, std::span<Block> blocks) {
    bottom = blocks.first(2 * spec.bottom_mlp.size());
    top = blocks.last(2 * spec.top_mlp.size());
    cross = blocks.subspan(bottom.size(), blocks.size() - bottom.size() - top.size());
  }
};

/// Writes the loss of result.logits: sum of logit_loss / global_batch. Returns its gradient, [samples, 1].
template <class Number>
Matrix<Number> mean_loss(std::span<const float> labels, std::int64_t global_batch, DenseResult<Number>& result) {
  const auto share = static_cast<Number>(1.0 / static_cast<double>(global_batch));
  std::vector<Number> losses(labels.size()), shares(labels.size(), share);
  Matrix<Number> gradient = result.logits;
  for (std::size_t s = 0; s < labels.size(); ++s) {
    losses[s] = logit_loss(result.logits.values[s], labels[s]);
    gradient.values[s] = logit_gradient(result.logits.values[s], labels[s]) * share;
  }
  result.loss = sum_of_products(std::span<const Number>(losses), std::span<const Number>(shares));
  return gradient;
}

/// Runs forward and backward of a model with layers. global_batch: the samples of all ranks, over which the loss is a
/// mean; results of parts of a batch add up to those of the whole. Number: double defines what is right, Uncertain says
/// by how much fp32 may differ, float is one fp32 evaluation. math: weights are as products read them then, cut by
/// as_tf32() or with the error of that. Throws InputError as check_dense, check_parameters and check_input do.
template <class Number>
DenseResult<Number> dense_pass(const DenseSpec& spec, const DenseParameters<Number>& parameters,
                               const DenseInput<Number>& input, std::int64_t global_batch,
                               DenseMath math = DenseMath::fp32) {
  check_parameters(spec, parameters);
  check_input(input, spec.widths, spec.numerical_features);
  const DenseParts<const Matrix<Number>> layers(spec, parameters);
  const Products products{math, global_batch};
  const auto bottom = mlp(layers.bottom, input.numerical, MlpEnd::relu, products);
  const auto interacted = interact(spec, layers.cross, bottom.back(), input.vectors, products);
  const auto top = mlp(layers.top, interacted.x, MlpEnd::linear, products);

  DenseResult<Number> result;
  result.logits = top.back();
  result.parameter_gradients.resize(parameters.size());
  const DenseParts<Matrix<Number>> gradients(spec, result.parameter_gradients);
  auto of_logits = mean_loss<Number>(input.labels, global_batch, result);
  const GradientProducts<Number> backward{products, take_factors(of_logits)};
  const auto of_x = mlp_backward(layers.top, top, MlpEnd::linear, of_logits, gradients.top, backward);
  auto of = interact_backward(spec, layers.cross, interacted, of_x, gradients.cross, backward);
  mlp_backward(layers.bottom, bottom, MlpEnd::relu, std::move(of.lead), gradients.bottom, backward);
  for (const Matrix<Number>& g : of.vectors) result.vector_gradients.push_back(with_factors(g, backward.factors));
  return result;
}

}  // namespace shardmark::reference
