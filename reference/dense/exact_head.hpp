// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/counter_random.hpp"
#include "reference/dense/dense_input.hpp"
#include "reference/dense/layers.hpp"

namespace shardmark::reference {

/// Gives the weights of DenseKind::exact, keyed (seed, feature, column): plus or minus 1, 2 or 4 times `unit`, a power
/// of two.
struct ExactHead {
  std::uint64_t seed = 0;
  float unit = 0x1p-6F;

  constexpr float operator()(std::int64_t feature, std::int64_t column) const {
    constexpr std::int64_t of_the_head = -2;  // where the values of tables have the number of theirs
    constexpr std::uint64_t signs = 2, powers = 3;
    const std::uint64_t draw = (random_bits(seed, of_the_head, feature, column) >> 32) * signs * powers >> 32;
    const float magnitude = static_cast<float>(1U << draw / signs) * unit;
    return draw % signs == 0 ? magnitude : -magnitude;
  }
};

/// Returns [z > 0].
template <std::floating_point Number>
Number step(Number z) {
  return z > 0 ? 1 : 0;
}

/// Runs forward and backward of the exact head h:
///   z = sum over features and columns of h e,  loss = sum over the samples of max(z, 0) - y z,
///   dz = [z > 0] - y, which is -1, 0 or 1,  de = dz h
/// The loss is that of Rosenblatt's perceptron, binary cross entropy without the term that is not exact, log(1 +
/// e^-|z|). It is a sum and no mean, so that gradients are k unit with |k| <= 4, as synthetic ones are
/// (GradientValues). With exact rows and sums of ids (RowValues::unit > 0), and an SGD of a power of two, all that a
/// step computes is exact in fp32, as long as no sum of n terms outgrows 2^24 times its finest bit. The head is not
/// trained: its own gradient, a sum over the batch, would outgrow them first. Numerical features are no powers of two,
/// and not used.
template <class Number>
DenseResult<Number> exact_pass(const ExactHead& head, const DenseInput<Number>& input) {
  std::vector<std::int64_t> widths;
  for (const auto& vectors : input.vectors) widths.push_back(vectors.columns);
  check_input(input, widths, input.numerical.columns);
  const std::int64_t samples = std::ssize(input.labels);
  const Matrix<Number> x = concatenation(std::span<const Matrix<Number>>(input.vectors), samples);
  Matrix<Number> weights(1, 0);
  for (std::size_t f = 0; f < widths.size(); ++f)
    for (std::int64_t c = 0; c < widths[f]; ++c)
      weights.values.push_back(Number(head(static_cast<std::int64_t>(f), c)));
  weights.columns = x.columns;

  DenseResult<Number> result;
  result.logits = product_transposed(x, weights);
  Matrix<Number> gradient(samples, 1);
  std::vector<Number> losses(samples), ones(samples, Number(1.0F));
  for (std::int64_t s = 0; s < samples; ++s) {
    const Number z = result.logits.values[s], label(input.labels[s]);
    losses[s] = relu(z) - label * z;
    gradient.values[s] = step(z) - label;
  }
  result.loss = sum_of_products(std::span<const Number>(losses), std::span<const Number>(ones));
  result.vector_gradients = split(product(gradient, weights), widths);
  return result;
}

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::ExactHead;
}  // namespace shardmark
