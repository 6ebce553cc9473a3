// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reference/dense/dense_parameters.hpp"
#include "reference/optimizer_step.hpp"

namespace shardmark::reference {

/// Throws InputError for an optimizer that needs sums over a row of a table, which weights of layers are not.
inline void check_dense_optimizer(const Optimizer& optimizer) {
  if (row_sum_count(optimizer.kind) == 0) return;
  throw InputError("optimizer " + std::string(name_of(optimizer.kind)) +
                   " works on rows of tables; weights of layers take one that works on elements, such as sgd, adagrad "
                   "or adam");
}

/// Holds the optimizer state by block, as one row each: [state_per_row(kind, elements)].
template <class T>
using DenseState = std::vector<std::vector<T>>;

template <class T>
DenseState<T> initial_dense_state(const Optimizer& optimizer, const DenseParameters<T>& parameters) {
  DenseState<T> state;
  for (const auto& block : parameters) {
    const std::int64_t elements = std::ssize(block.values);
    auto& numbers = state.emplace_back(static_cast<std::size_t>(state_per_row(optimizer.kind, elements)));
    for (std::int64_t i = 0; i < std::ssize(numbers); ++i) numbers[i] = initial_state(optimizer, elements, i);
  }
  return state;
}

/// Takes step number t, from 1, by the formulas of reference/optimizer.hpp on every element, evaluated in double and
/// rounded once to T. gradients: of the mean over the global batch, from all ranks. Throws InputError as
/// check_dense_optimizer does.
template <class T>
void dense_step(const Optimizer& optimizer, std::int64_t t, const DenseParameters<double>& gradients,
                DenseParameters<T>& parameters, DenseState<T>& state) {
  check_dense_optimizer(optimizer);
  for (std::size_t b = 0; b < parameters.size(); ++b)
    optimizer_step<T>(optimizer, t, parameters[b].values, state[b], gradients[b].values);
}

}  // namespace shardmark::reference
