// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <optional>
#include <string>

#include "reference/dense/dense_parameters.hpp"

namespace shardmark::reference {

/// Holds the samples that the dense model reads.
template <class Number>
struct DenseInput {
  std::vector<Matrix<Number>> vectors;  ///< pooled, by feature, [samples, width of the feature]
  Matrix<Number> numerical;             ///< [samples, numerical features], after log_transform() for Criteo's
  std::vector<float> labels;            ///< [samples], 0 or 1
};

/// Holds what the dense model computes from them.
template <class Number>
struct DenseResult {
  Matrix<Number> logits;                         ///< [samples, 1]
  Number loss{};                                 ///< of these samples
  std::vector<Matrix<Number>> vector_gradients;  ///< of the loss, by feature, [samples, width of the feature]
  DenseParameters<Number> parameter_gradients;   ///< of the loss, by block
};

/// Throws InputError when `given` has not this shape; `what` names the matrix of the input or the model.
template <class Number>
void check_shape(const Matrix<Number>& given, std::int64_t rows, std::int64_t columns, const std::string& what) {
  const auto shape = [](std::int64_t r, std::int64_t c) {
    return "[" + std::to_string(r) + ", " + std::to_string(c) + "]";
  };
  if (given.rows == rows && given.columns == columns) return;
  throw InputError("dense model: " + what + " is " + shape(given.rows, given.columns) + ", must be " +
                   shape(rows, columns));
}

/// Throws InputError when there is a label for another number of samples, or the features are not of these widths.
template <class Number>
void check_input(const DenseInput<Number>& input, std::span<const std::int64_t> widths,
                 std::int64_t numerical_features) {
  const std::int64_t samples = std::ssize(input.labels);
  if (input.vectors.size() != widths.size())
    throw InputError("dense model: vectors of " + std::to_string(input.vectors.size()) + " features, must be " +
                     std::to_string(widths.size()));
  for (std::size_t f = 0; f < widths.size(); ++f)
    check_shape(input.vectors[f], samples, widths[f], "feature " + std::to_string(f));
  check_shape(input.numerical, samples, numerical_features, "numerical");
}

/// Throws InputError when these are not the blocks of the model.
template <class Number>
void check_parameters(const DenseSpec& spec, const DenseParameters<Number>& parameters) {
  const auto blocks = dense_blocks(spec);
  if (parameters.size() != blocks.size())
    throw InputError("dense model: " + std::to_string(parameters.size()) + " blocks of parameters, must be " +
                     std::to_string(blocks.size()));
  for (std::size_t b = 0; b < blocks.size(); ++b)
    check_shape(parameters[b], blocks[b].rows, blocks[b].columns, blocks[b].name);
}

/// Transforms an integer column of Criteo to log(1 + x), where a missing field and a negative value count as 0;
/// evaluated in double and rounded once. Source: facebookresearch/dlrm, whose data_utils.py sets "" to 0 and X_int < 0
/// to 0, and whose loader takes log(X_int + 1). TorchRec's preprocessing differs, log(x + 3) or log(x - min + 2), and
/// has already been applied in its .npy files: they are not transformed again.
inline float log_transform(std::optional<float> x) {
  return x && *x > 0.0F ? static_cast<float>(std::log1p(static_cast<double>(*x))) : 0.0F;
}

}  // namespace shardmark::reference
