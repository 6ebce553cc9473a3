// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/simd.hpp"
#include "reference/optimizer.hpp"

namespace shardmark::kernels {

/// Holds the sums over one row that an optimizer needs (see row_sum_count), complete.
struct SumsOfRow {
  float first = 0;
  float second = 0;
};

/// Holds the weight decay of any optimizer, 0 where there is none: l2 w is added to the gradient, decoupled w is
/// subtracted from w.
struct DecayFactors {
  float l2, decoupled;

  KOKKOS_FUNCTION explicit DecayFactors(const Optimizer& o)
      : l2(o.weight_decay_mode == WeightDecay::l2 ? o.weight_decay : 0.0F),
        decoupled(o.weight_decay_mode == WeightDecay::decoupled && o.kind != OptimizerKind::lamb
                      ? o.learning_rate * o.weight_decay
                      : 0.0F) {}
};

// These are the rules of reference/optimizer.hpp in fp32, one class each, made of the hyperparameters and the number of
// the step. A Number is a float or Simd.
//   w' = step(w, g, m, v)             one value; m and v, its numbers in the state vectors, are replaced
// and where row_sum_count is not 0:
//   add(w, g, m, v, first, second)    what the value adds to the sums of its row
//   step.for_row(sums, columns, s)    the step of one row of the table; s, its own number of state, is replaced

struct SgdStep {
  static constexpr auto kind = OptimizerKind::sgd;
  float rate;

  KOKKOS_FUNCTION explicit SgdStep(float factor) : rate(factor) {}
  KOKKOS_FUNCTION SgdStep(const Optimizer& o, std::int64_t) : rate(o.learning_rate) {}
  template <class Number>
  KOKKOS_FORCEINLINE_FUNCTION Number operator()(Number w, Number g, Number&, Number&) const {
    return fused(-rate, g, w);
  }
};

struct MomentumStep {
  static constexpr auto kind = OptimizerKind::momentum;
  float rate, momentum;

  KOKKOS_FUNCTION MomentumStep(const Optimizer& o, std::int64_t) : rate(o.learning_rate), momentum(o.momentum) {}
  template <class Number>
  KOKKOS_FORCEINLINE_FUNCTION Number operator()(Number w, Number g, Number& m, Number&) const {
    m = fused(-rate, g, momentum * m);
    return w + m;
  }
};

struct NesterovStep {
  static constexpr auto kind = OptimizerKind::nesterov;
  float rate, momentum;

  KOKKOS_FUNCTION NesterovStep(const Optimizer& o, std::int64_t) : rate(o.learning_rate), momentum(o.momentum) {}
  template <class Number>
  KOKKOS_FORCEINLINE_FUNCTION Number operator()(Number w, Number g, Number& m, Number&) const {
    const Number before = m;
    m = fused(-rate, g, momentum * m);
    return w + fused(momentum, m - before, m);
  }
};

struct AdagradStep {
  static constexpr auto kind = OptimizerKind::adagrad;
  float rate, epsilon;

  KOKKOS_FUNCTION AdagradStep(const Optimizer& o, std::int64_t) : rate(o.learning_rate), epsilon(o.epsilon) {}
  template <class Number>
  KOKKOS_FORCEINLINE_FUNCTION Number operator()(Number w, Number g, Number& s, Number&) const {
    s = fused(g, g, s);
    return w - rate * g / (square_root(s) + epsilon);
  }
};

struct RowwiseAdagradStep {
  static constexpr auto kind = OptimizerKind::rowwise_adagrad;
  float rate, epsilon;

  KOKKOS_FUNCTION RowwiseAdagradStep(const Optimizer& o, std::int64_t) : rate(o.learning_rate), epsilon(o.epsilon) {}
  template <class Number>
  KOKKOS_FORCEINLINE_FUNCTION void add(Number, Number g, Number, Number, Number& first, Number&) const {
    first = fused(g, g, first);
  }
  KOKKOS_FORCEINLINE_FUNCTION SgdStep for_row(const SumsOfRow& sums, float columns, float& s) const {
    s += sums.first / columns;
    return SgdStep(rate / (square_root(s) + epsilon));
  }
};

struct RmspropStep {
  static constexpr auto kind = OptimizerKind::rmsprop;
  float rate, decay, rest, epsilon;

  KOKKOS_FUNCTION RmspropStep(const Optimizer& o, std::int64_t)
      : rate(o.learning_rate), decay(o.decay), rest(static_cast<float>(1.0 - o.decay)), epsilon(o.epsilon) {}
  template <class Number>
  KOKKOS_FORCEINLINE_FUNCTION Number operator()(Number w, Number g, Number& v, Number&) const {
    v = fused(decay, v, rest * g * g);
    return w - rate * g / (square_root(v) + epsilon);
  }
};

/// Computes the moving means m of g and v of g^2, and the factors that make up for their start at 0: m^ = unbias_m m,
/// v^ = unbias_v v.
struct Moments {
  float beta1, rest1, beta2, rest2, unbias_m, unbias_v, epsilon;

  KOKKOS_FUNCTION Moments(const Optimizer& o, std::int64_t number)
      : beta1(o.beta1),
        rest1(static_cast<float>(1.0 - o.beta1)),
        beta2(o.beta2),
        rest2(static_cast<float>(1.0 - o.beta2)),
        unbias_m(unbias(o.beta1, number)),
        unbias_v(unbias(o.beta2, number)),
        epsilon(o.epsilon) {}

  template <class Number>
  KOKKOS_FORCEINLINE_FUNCTION Number mean(Number m, Number g) const {
    return fused(beta1, m, rest1 * g);
  }
  template <class Number>
  KOKKOS_FORCEINLINE_FUNCTION Number square(Number v, Number g) const {
    return fused(beta2, v, rest2 * g * g);
  }
  /// Returns m^ / (sqrt(v^) + eps).
  template <class Number>
  KOKKOS_FORCEINLINE_FUNCTION Number direction(Number m, Number v) const {
    return unbias_m * m / (square_root(unbias_v * v) + epsilon);
  }

 private:
  /// Returns 1 / (1 - beta^t).
  KOKKOS_FUNCTION static float unbias(double beta, std::int64_t number) {
    return static_cast<float>(1.0 / (1.0 - Kokkos::pow(beta, static_cast<double>(number))));
  }
};

struct AdamStep {
  static constexpr auto kind = OptimizerKind::adam;
  float rate;
  Moments moments;

  KOKKOS_FUNCTION AdamStep(const Optimizer& o, std::int64_t number) : rate(o.learning_rate), moments(o, number) {}
  template <class Number>
  KOKKOS_FORCEINLINE_FUNCTION Number operator()(Number w, Number g, Number& m, Number& v) const {
    m = moments.mean(m, g);
    v = moments.square(v, g);
    return fused(-rate, moments.direction(m, v), w);
  }
};

struct RowwiseAdamStep {
  static constexpr auto kind = OptimizerKind::rowwise_adam;
  float rate;
  Moments moments;

  struct Row {
    float rate;
    Moments moments;
    template <class Number>
    KOKKOS_FORCEINLINE_FUNCTION Number operator()(Number w, Number g, Number& m, Number&) const {
      m = moments.mean(m, g);
      return fused(-rate, m, w);
    }
  };

  KOKKOS_FUNCTION RowwiseAdamStep(const Optimizer& o, std::int64_t number)
      : rate(o.learning_rate), moments(o, number) {}
  template <class Number>
  KOKKOS_FORCEINLINE_FUNCTION void add(Number, Number g, Number, Number, Number& first, Number&) const {
    first = fused(g, g, first);
  }
  KOKKOS_FORCEINLINE_FUNCTION Row for_row(const SumsOfRow& sums, float columns, float& v) const {
    v = fused(moments.beta2, v, moments.rest2 * (sums.first / columns));
    return {rate * moments.unbias_m / (square_root(moments.unbias_v * v) + moments.epsilon), moments};
  }
};

/// The FTRL step takes sqrt(n' + e) - sqrt(n + e) as g^2 over the sum of the roots, where nothing cancels.
struct FtrlStep {
  static constexpr auto kind = OptimizerKind::ftrl;
  static constexpr float e = 0x1p-23F;
  float rate, l1, l2, beta;

  KOKKOS_FUNCTION FtrlStep(const Optimizer& o, std::int64_t)
      : rate(o.learning_rate), l1(o.l1), l2(o.l2), beta(o.beta) {}
  template <class Number>
  KOKKOS_FORCEINLINE_FUNCTION Number operator()(Number w, Number g, Number& n, Number& z) const {
    const Number before = square_root(n + e);
    n = fused(g, g, n);
    const Number after = square_root(n + e);
    z = z + fused(g * g / (after + before) / -rate, w, g);
    return (smaller(larger(z, -l1), l1) - z) / ((beta + after) / rate + l2);
  }
};

struct LambStep {
  static constexpr auto kind = OptimizerKind::lamb;
  float rate, decoupled;
  Moments moments;

  struct Row;

  KOKKOS_FUNCTION LambStep(const Optimizer& o, std::int64_t number)
      : rate(o.learning_rate),
        decoupled(o.weight_decay_mode == WeightDecay::decoupled ? o.weight_decay : 0.0F),
        moments(o, number) {}
  template <class Number>
  KOKKOS_FORCEINLINE_FUNCTION Number direction(Number w, Number m, Number v) const {
    return fused(decoupled, w, moments.direction(m, v));
  }
  template <class Number>
  KOKKOS_FORCEINLINE_FUNCTION void add(Number w, Number g, Number m, Number v, Number& first, Number& second) const {
    const Number r = direction(w, moments.mean(m, g), moments.square(v, g));
    first = fused(w, w, first);
    second = fused(r, r, second);
  }
  KOKKOS_FORCEINLINE_FUNCTION Row for_row(const SumsOfRow& sums, float, float&) const;
};

struct LambStep::Row {
  float rate;
  LambStep lamb;

  template <class Number>
  KOKKOS_FORCEINLINE_FUNCTION Number operator()(Number w, Number g, Number& m, Number& v) const {
    m = lamb.moments.mean(m, g);
    v = lamb.moments.square(v, g);
    return fused(-rate, lamb.direction(w, m, v), w);
  }
};

KOKKOS_FORCEINLINE_FUNCTION LambStep::Row LambStep::for_row(const SumsOfRow& sums, float, float&) const {
  const bool scaled = sums.first > 0 && sums.second > 0;
  return {scaled ? rate * (square_root(sums.first) / square_root(sums.second)) : rate, *this};
}

/// Calls body(step) with the step of the optimizer, once for a run of rows; does not call it for `none`.
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION void with_step(const Optimizer& optimizer, std::int64_t number, const Body& body) {
  switch (optimizer.kind) {
    case OptimizerKind::sgd:
      return body(SgdStep(optimizer, number));
    case OptimizerKind::momentum:
      return body(MomentumStep(optimizer, number));
    case OptimizerKind::nesterov:
      return body(NesterovStep(optimizer, number));
    case OptimizerKind::adagrad:
      return body(AdagradStep(optimizer, number));
    case OptimizerKind::rowwise_adagrad:
      return body(RowwiseAdagradStep(optimizer, number));
    case OptimizerKind::rmsprop:
      return body(RmspropStep(optimizer, number));
    case OptimizerKind::adam:
      return body(AdamStep(optimizer, number));
    case OptimizerKind::rowwise_adam:
      return body(RowwiseAdamStep(optimizer, number));
    case OptimizerKind::ftrl:
      return body(FtrlStep(optimizer, number));
    case OptimizerKind::lamb:
      return body(LambStep(optimizer, number));
    case OptimizerKind::none:
      return;
  }
}

}  // namespace shardmark::kernels
