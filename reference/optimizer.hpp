// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "reference/named.hpp"

namespace shardmark {

/// g is the gradient of a row summed over the whole global batch ("exact" updates, one per unique row and step):
///   sgd              w -= lr g
///   adagrad          s += g^2 (element-wise),  w -= lr g / (sqrt(s) + eps)
///   rowwise_adagrad  s += mean over the row of g^2 (one number per row),  w -= lr g / (sqrt(s) + eps)
/// s starts at initial_accumulator. Source: the rules of FBGEMM's table-batched embedding.
enum class OptimizerKind { sgd, adagrad, rowwise_adagrad };

struct Optimizer {
  OptimizerKind kind = OptimizerKind::sgd;
  float learning_rate = 0.01F;
  float epsilon = 1e-8F;
  float initial_accumulator = 0.0F;

  bool operator==(const Optimizer&) const = default;
};

enum class StateShape { none, per_row, per_element };

struct OptimizerChoice {
  std::string_view name;
  std::string_view description;
  OptimizerKind value;
  StateShape state;
};

inline constexpr std::array optimizers{
    OptimizerChoice{"sgd", "w -= lr g", OptimizerKind::sgd, StateShape::none},
    OptimizerChoice{"adagrad", "per element: s += g^2, w -= lr g / (sqrt(s) + eps)", OptimizerKind::adagrad,
                    StateShape::per_element},
    OptimizerChoice{"rowwise_adagrad", "per row: s += mean(g^2), w -= lr g / (sqrt(s) + eps)",
                    OptimizerKind::rowwise_adagrad, StateShape::per_row},
};

inline OptimizerKind optimizer_named(std::string_view name) {
  return choice_named(optimizers, "optimizer", name).value;
}
constexpr const OptimizerChoice& choice_of(OptimizerKind kind) { return optimizers[static_cast<std::size_t>(kind)]; }
constexpr std::string_view name_of(OptimizerKind kind) { return choice_of(kind).name; }

/// Floats of optimizer state beside one row (or one row's slice) of `dim` elements.
constexpr std::int64_t state_per_row(OptimizerKind kind, std::int64_t dim) {
  switch (choice_of(kind).state) {
    case StateShape::per_row:
      return 1;
    case StateShape::per_element:
      return dim;
    default:
      return 0;
  }
}

}  // namespace shardmark
