// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <span>
#include <stdexcept>
#include <string>

#include "reference/optimizer.hpp"

namespace shardmark::reference {

/// What a gradient takes off one value: lr g, or lr g / (sqrt(s) + eps) with the state s after this step.
inline double step_size(const Optimizer& optimizer, double gradient, double state) {
  const double step = static_cast<double>(optimizer.learning_rate) * gradient;
  return optimizer.kind == OptimizerKind::sgd ? step : step / (std::sqrt(state) + optimizer.epsilon);
}

/// One update of one row by its summed gradient, in the formulas of reference/optimizer.hpp, evaluated in double.
/// row and gradient [dim], state [state_per_row(kind, dim)]. T is float, or double to study rounding.
template <class T>
void optimizer_step(const Optimizer& optimizer, std::span<T> row, std::span<T> state,
                    std::span<const double> gradient) {
  const auto take = [&](std::size_t c, double s) {
    row[c] = static_cast<T>(row[c] - step_size(optimizer, gradient[c], s));
  };
  switch (optimizer.kind) {
    case OptimizerKind::sgd:
      for (std::size_t c = 0; c < row.size(); ++c) take(c, 0.0);
      return;
    case OptimizerKind::adagrad:
      for (std::size_t c = 0; c < row.size(); ++c) {
        const double s = state[c] + gradient[c] * gradient[c];
        state[c] = static_cast<T>(s);
        take(c, s);
      }
      return;
    case OptimizerKind::rowwise_adagrad: {
      double squares = 0.0;
      for (const double g : gradient) squares += g * g;
      const double s = state[0] + squares / static_cast<double>(gradient.size());
      state[0] = static_cast<T>(s);
      for (std::size_t c = 0; c < row.size(); ++c) take(c, s);
      return;
    }
    default:
      throw std::logic_error("no reference of " + std::string(name_of(optimizer.kind)));
  }
}

}  // namespace shardmark::reference
