// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/dense/dense_spec.hpp"
#include "reference/dense/matrix.hpp"

namespace shardmark::reference {

/// Describes a weight [outputs, inputs] or bias [outputs, 1] of a model.
struct DenseBlock {
  std::string name;  ///< "top.0.weight"
  std::int64_t rows = 0, columns = 0;
  double deviation = 0.0;  ///< standard deviation of its initial values, normal around 0; 0: they are 0
};

/// Lists the blocks in the order in which a model keeps them: weight and bias of each layer of the bottom MLP, V [rank,
/// n], W [n, rank] and bias of each cross layer, weight and bias of each layer of the top MLP. Throws InputError as
/// check_dense does.
/// Deviations: weights sqrt(2 / (inputs + outputs)), and biases of an MLP sqrt(1 / outputs), as facebookresearch/dlrm;
/// V and W by the same formula (Glorot and Bengio 2010) and biases of cross layers 0, as TorchRec's LowRankCrossNet.
std::vector<DenseBlock> dense_blocks(const DenseSpec& spec);

/// Holds a model's weights and biases, by block.
template <class Number>
using DenseParameters = std::vector<Matrix<Number>>;

/// Returns the initial parameters, the same on every rank: a function of seed, block, row and column, rounded to fp32.
DenseParameters<float> initial_dense(const DenseSpec& spec, std::uint64_t seed);

/// Converts parameters to another type of numbers.
template <class To, class From>
DenseParameters<To> converted(const DenseParameters<From>& from) {
  DenseParameters<To> to;
  for (const auto& block : from) to.push_back(converted<To>(block));
  return to;
}

}  // namespace shardmark::reference
