// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/dense/matrix_view.hpp"
#include "reference/optimizer.hpp"

namespace shardmark::kernels {

/// This is the largest number of state vectors that an optimizer of single values keeps: 2 of adam.
inline constexpr int most_state_vectors = 2;

/// Takes step number t, from 1, of an optimizer that works on single values (reference/dense/dense_step.hpp), on all of
/// them; `none` changes nothing. values, gradients [n]; state: one vector [n] for each that the optimizer has. All
/// threads take part.
void dense_update(const Optimizer& optimizer, std::int64_t number, const Array<DenseExecution, float>& values,
                  const ConstArray<DenseExecution, float>& gradients, const Array<DenseExecution, float>& first_state,
                  const Array<DenseExecution, float>& second_state);

}  // namespace shardmark::kernels
