// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <span>

#include "reference/optimizer.hpp"

namespace shardmark::reference {

/// One update of one row by its summed gradient, in the formulas of reference/optimizer.hpp, evaluated in double.
/// row and gradient [dim], state [state_per_row(kind, dim)]. T is float, or double to study rounding.
template <class T>
void optimizer_step(const Optimizer& optimizer, std::span<T> row, std::span<T> state, std::span<const double> gradient) {
  const double lr = optimizer.learning_rate;
  const double eps = optimizer.epsilon;
  switch (optimizer.kind) {
    case OptimizerKind::sgd:
      for (std::size_t c = 0; c < row.size(); ++c) row[c] = static_cast<T>(row[c] - lr * gradient[c]);
      return;
    case OptimizerKind::adagrad:
      for (std::size_t c = 0; c < row.size(); ++c) {
        const double s = state[c] + gradient[c] * gradient[c];
        state[c] = static_cast<T>(s);
        row[c] = static_cast<T>(row[c] - lr * gradient[c] / (std::sqrt(s) + eps));
      }
      return;
    case OptimizerKind::rowwise_adagrad: {
      double squares = 0.0;
      for (const double g : gradient) squares += g * g;
      const double s = state[0] + squares / static_cast<double>(gradient.size());
      state[0] = static_cast<T>(s);
      for (std::size_t c = 0; c < row.size(); ++c)
        row[c] = static_cast<T>(row[c] - lr * gradient[c] / (std::sqrt(s) + eps));
      return;
    }
  }
}

}  // namespace shardmark::reference
