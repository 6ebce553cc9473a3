// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "reference/optimizer.hpp"

namespace shardmark::kernels {

/// This is the largest number of state vectors that an optimizer of single values keeps: 2 of adam.
inline constexpr int most_state_vectors = 2;

/// Takes step number t, from 1, of an optimizer that works on single values (reference/dense/dense_step.hpp), on all of
/// them; `none` changes nothing. values, gradients [n]; state: one vector [n] for each that the optimizer has. All
/// threads take part.
void dense_update(const Optimizer& optimizer, std::int64_t number, std::span<float> values,
                  std::span<const float> gradients, std::span<float> first_state, std::span<float> second_state);

}  // namespace shardmark::kernels
