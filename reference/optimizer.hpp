// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "reference/named.hpp"

namespace shardmark::reference {

/// These are the update rules of a row. g is its gradient summed over the whole global batch ("exact" updates, one per
/// unique row and step; rows that no id of the batch names keep their values and their state: "lazy"), t the number of
/// the step from 1, b the momentum:
///   sgd              w -= lr g
///   momentum         m = b m - lr g,  w += m
///   nesterov         m' = b m - lr g,  w += m' + b (m' - m)
///   adagrad          s += g^2,  w -= lr g / (sqrt(s) + eps)
///   rowwise_adagrad  s += mean over the row of g^2 (one number per row),  w -= lr g / (sqrt(s) + eps)
///   rmsprop          v = d v + (1 - d) g^2,  w -= lr g / (sqrt(v) + eps)
///   adam             m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2,
///                    w -= lr m^ / (sqrt(v^) + eps),  m^ = m / (1 - b1^t),  v^ = v / (1 - b2^t); the
///                    corrections 1 - b^t are evaluated in double: 1 - 0.999 has no more than 14 good bits in fp32
///   rowwise_adam     the same with one v per row, of the mean over the row of g^2 ("partial")
///   ftrl             n' = n + g^2,  z += g - (sqrt(n' + e) - sqrt(n + e)) / lr w,  e = 2^-23,
///                    w = 0 if |z| <= l1, else (sign(z) l1 - z) / ((beta + sqrt(n' + e)) / lr + l2)
///   lamb             m, v as adam,  r = m^ / (sqrt(v^) + eps),  w -= lr |w| / |r| r  (norms over the row; 1 where
///                    either is 0)
///   none             w stays as it is: inference
/// s, and n of ftrl, start at initial_accumulator, other state at 0. Sources: FBGEMM's table-batched embedding for sgd,
/// adagrad, rowwise_adagrad, adam, rowwise_adam and lamb; HugeCTR's embedding collection for momentum, nesterov,
/// rmsprop and ftrl.
enum class OptimizerKind {
  sgd,
  momentum,
  nesterov,
  adagrad,
  rowwise_adagrad,
  rmsprop,
  adam,
  rowwise_adam,
  ftrl,
  lamb,
  none
};

/// Selects what weight decay wd does:
///   l2         g + wd w takes the place of g everywhere above
///   decoupled  w -= lr wd w beside the step above, both from the w before the step; lamb adds wd w to r instead
enum class WeightDecay { l2, decoupled };

inline constexpr std::array weight_decays{
    Choice<WeightDecay>{"l2", "g + wd w takes the place of g", WeightDecay::l2},
    Choice<WeightDecay>{"decoupled", "w -= lr wd w beside the step", WeightDecay::decoupled},
};
constexpr auto choices_of(WeightDecay) { return Choices{"weight decay", weight_decays}; }

struct Optimizer {
  OptimizerKind kind = OptimizerKind::sgd;
  float learning_rate = 0.01F;
  float epsilon = 1e-8F;
  float initial_accumulator = 0.0F;
  float momentum = 0.9F;  ///< b of momentum and nesterov
  float decay = 0.9F;     ///< d of rmsprop
  float beta1 = 0.9F;     ///< b1 and b2 of adam, rowwise_adam and lamb
  float beta2 = 0.999F;
  float l1 = 0.0F;  ///< of ftrl, with l2 and beta
  float l2 = 0.0F;
  float beta = 0.0F;
  float weight_decay = 0.0F;
  WeightDecay weight_decay_mode = WeightDecay::l2;

  bool operator==(const Optimizer&) const = default;
};

/// Describes the state of a row of dim values: `vectors` times dim floats, one vector after the other (m before v, n
/// before z), then `scalars` floats.
struct OptimizerChoice : Choice<OptimizerKind> {
  std::int64_t vectors;
  std::int64_t scalars;
};

inline constexpr std::array optimizers{
    OptimizerChoice{"sgd", "w -= lr g", OptimizerKind::sgd, 0, 0},
    OptimizerChoice{"momentum", "m = b m - lr g, w += m", OptimizerKind::momentum, 1, 0},
    OptimizerChoice{"nesterov", "m' = b m - lr g, w += m' + b (m' - m)", OptimizerKind::nesterov, 1, 0},
    OptimizerChoice{"adagrad", "per element: s += g^2, w -= lr g / (sqrt(s) + eps)", OptimizerKind::adagrad, 1, 0},
    OptimizerChoice{"rowwise_adagrad", "per row: s += mean(g^2), w -= lr g / (sqrt(s) + eps)",
                    OptimizerKind::rowwise_adagrad, 0, 1},
    OptimizerChoice{"rmsprop", "v = d v + (1 - d) g^2, w -= lr g / (sqrt(v) + eps)", OptimizerKind::rmsprop, 1, 0},
    OptimizerChoice{"adam", "means m of g and v of g^2, w -= lr m^ / (sqrt(v^) + eps)", OptimizerKind::adam, 2, 0},
    OptimizerChoice{"rowwise_adam", "adam with one v per row", OptimizerKind::rowwise_adam, 1, 1},
    OptimizerChoice{"ftrl", "follow the regularized leader, with l1, l2 and beta", OptimizerKind::ftrl, 2, 0},
    OptimizerChoice{"lamb", "adam's step scaled to the norm of the row", OptimizerKind::lamb, 2, 0},
    OptimizerChoice{"none", "rows stay as they are: inference", OptimizerKind::none, 0, 0},
};
constexpr auto choices_of(OptimizerKind) { return Choices{"optimizer", optimizers}; }

constexpr const OptimizerChoice& choice_of(OptimizerKind kind) { return optimizers[index_of(kind)]; }

/// Returns the number of floats of optimizer state beside one row (or one row's slice) of `dim` elements.
constexpr std::int64_t state_per_row(OptimizerKind kind, std::int64_t dim) {
  return choice_of(kind).vectors * dim + choice_of(kind).scalars;
}

/// Returns whether a step is linear in the gradient, so that an error of the gradient changes the step in proportion.
/// The others divide the gradient by its own size: one that is 0 but for an error becomes a whole step of either sign.
constexpr bool is_linear(OptimizerKind kind) {
  return kind == OptimizerKind::sgd || kind == OptimizerKind::momentum || kind == OptimizerKind::nesterov ||
         kind == OptimizerKind::none;
}

/// Returns how many sums over a whole row, over all of its columns wherever they are held, an optimizer needs before it
/// changes the row.
constexpr std::int64_t row_sum_count(OptimizerKind kind) {
  if (kind == OptimizerKind::lamb) return 2;
  return kind == OptimizerKind::rowwise_adagrad || kind == OptimizerKind::rowwise_adam ? 1 : 0;
}

/// Returns the initial value of a float of state: initial_accumulator for sums of g^2 over all steps, else 0. `at`: its
/// place in the state of a row of `dim` values.
constexpr float initial_state(const Optimizer& optimizer, std::int64_t dim, std::int64_t at) {
  const bool accumulates = optimizer.kind == OptimizerKind::adagrad ||
                           optimizer.kind == OptimizerKind::rowwise_adagrad || optimizer.kind == OptimizerKind::ftrl;
  return accumulates && at < dim ? optimizer.initial_accumulator : 0.0F;
}

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::Optimizer, reference::OptimizerChoice, reference::OptimizerKind, reference::WeightDecay,
    reference::choice_of, reference::initial_state, reference::is_linear, reference::optimizers,
    reference::row_sum_count, reference::state_per_row, reference::weight_decays;
}  // namespace shardmark
