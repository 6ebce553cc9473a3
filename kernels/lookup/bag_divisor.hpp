// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"
#include "kernels/sort/balanced_ranges.hpp"
#include "reference/pooling.hpp"

namespace shardmark::kernels {

/// Returns the divisor of the bag of positions [begin, end): sum of weights (mean), root of the sum of their squares
/// (sqrtn), 1 (the others); in double, in bag order. `weights` is null when every weight is 1. 0 means that the bag's
/// vector is 0.
KOKKOS_INLINE_FUNCTION double bag_divisor(Pooling pooling, const float* weights, std::int64_t begin, std::int64_t end) {
  if (!divides(pooling)) return 1;
  double sum = 0;
  if (weights == nullptr) {
    sum = static_cast<double>(end - begin);
  } else {
    for (std::int64_t i = begin; i < end; ++i) {
      const double weight = weights[i];
      sum += pooling == Pooling::mean ? weight : weight * weight;
    }
  }
  return pooling == Pooling::mean ? sum : Kokkos::sqrt(sum);
}

/// Divides vector[d] by `divisor`, in double and rounded once; sets it to 0 when divisor is 0. Where the divisor is a
/// float, as every number of ids below 2^24 is, a division of floats gives the same bits.
template <class Value, class Dim>
KOKKOS_INLINE_FUNCTION void divide(Value* vector, Dim dim, double divisor) {
  if (divisor == 1) return;
  const auto narrow = static_cast<Value>(divisor);
  if (divisor != 0 && static_cast<double>(narrow) == divisor) {
    for (std::int64_t d = 0; d < dim; ++d) vector[d] /= narrow;
  } else {
    for (std::int64_t d = 0; d < dim; ++d)
      vector[d] = divisor == 0 ? Value{0} : static_cast<Value>(static_cast<double>(vector[d]) / divisor);
  }
}

/// Describes a run of consecutive bags and where their vectors lie.
struct BagVectors {
  std::int64_t first_bag = 0;
  std::int64_t bags = 0;
  std::int64_t dim = 0;
  std::int64_t begin = 0;   ///< element of the first bag's vector
  std::int64_t stride = 0;  ///< elements from one bag's vector to the next
  Pooling pooling = Pooling::sum;
};

/// Divides in place the vectors of every bag by bag_divisor of the *whole* bag: after the exchange, at the sample's
/// home, where all ids and weights are known even if the rows were spread over ranks (HugeCTR divides there too). The
/// same call turns the gradient of the pooled output into that of the sum. Other blocks are left as they are.
///   blocks: in ascending order of bags, covering those of `offsets` [bags + 1] that should be divided; weights: [nnz]
///   or empty; vectors: float or double.
template <class Exec, class Vectors>
void divide_by_bag(const Exec& exec, ConstArray<Exec, BagVectors> blocks, ConstArray<Exec, std::int64_t> offsets,
                   ConstArray<Exec, float> weights, const Vectors& vectors);

}  // namespace shardmark::kernels
