// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/dense/dense_spec.hpp"

namespace shardmark::reference {

/// What a model keeps, and computes for one sample; a product with its sum is two flops.
struct DenseWork {
  std::int64_t parameters = 0;
  std::int64_t forward_flops = 0;
  std::int64_t backward_flops = 0;

  std::int64_t flops() const { return forward_flops + backward_flops; }
  bool operator==(const DenseWork&) const = default;
};

/// Of a model with layers:
///   layer of an MLP, a -> b          a b + b parameters, 2 a b flops
///   dots of n vectors of d values    n (n - 1) / 2 pairs of 2 d flops
///   cross layer of x [n], rank r     2 n r + n parameters, 4 n r + 3 n flops
///   mean over neighbours             a flop for each value
/// Backward takes twice as many, for inputs and parameters; the numerical features need no gradient. Throws InputError
/// as check_dense.
DenseWork dense_work(const DenseSpec& spec);

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::DenseWork, reference::dense_work;
}  // namespace shardmark
