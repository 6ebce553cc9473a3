// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "reference/optimizer.hpp"

namespace shardmark::reference {

/// fp32 arithmetic of a program that may fuse, factor and order as it likes: by chance.
class FloatArithmetic {
 public:
  explicit FloatArithmetic(std::uint32_t seed) : random_(seed) {}

  bool by_chance() { return random_() % 2 == 0; }
  float multiply_add(float a, float b, float c) { return by_chance() ? std::fma(a, b, c) : a * b + c; }
  float quotient(float a, float b) { return by_chance() ? a / b : a * (1.0F / b); }

  /// Every term goes to one of up to four partial sums, which are added in turn.
  float sum(std::vector<float> terms) {
    std::shuffle(terms.begin(), terms.end(), random_);
    std::vector<float> partial(1 + random_() % 4, 0.0F);
    for (const float term : terms) partial[random_() % partial.size()] += term;
    float total = 0.0F;
    for (const float part : partial) total += part;
    return total;
  }

 private:
  std::mt19937 random_;
};

/// The formulas of reference/optimizer.hpp once more, apart from reference/optimizer_step.hpp, as a program may
/// evaluate them in fp32. Step number t of one row.
class FloatOptimizer {
 public:
  FloatOptimizer(const Optimizer& optimizer, std::int64_t t, FloatArithmetic& arithmetic)
      : o_(optimizer),
        correction1_(static_cast<float>(1.0 - std::pow(static_cast<double>(o_.beta1), static_cast<double>(t)))),
        correction2_(static_cast<float>(1.0 - std::pow(static_cast<double>(o_.beta2), static_cast<double>(t)))),
        fp32_(arithmetic) {}

  void step(std::vector<float>& row, std::vector<float>& state, std::vector<float> gradient) {
    const std::size_t dim = row.size();
    const bool l2 = o_.weight_decay != 0.0F && o_.weight_decay_mode == WeightDecay::l2;
    for (std::size_t c = 0; l2 && c < dim; ++c) gradient[c] = fp32_.multiply_add(o_.weight_decay, row[c], gradient[c]);
    if (o_.kind == OptimizerKind::rowwise_adagrad) state[0] += mean_square(gradient);
    if (o_.kind == OptimizerKind::rowwise_adam) state[dim] = mean(o_.beta2, state[dim], mean_square(gradient));
    const float ratio = o_.kind == OptimizerKind::lamb ? trust_ratio(row, state, gradient) : 1.0F;
    for (std::size_t c = 0; c < dim; ++c) {
      const float w = row[c];
      if (o_.kind == OptimizerKind::ftrl)
        row[c] = decayed(ftrl(state[c], state[dim + c], w, gradient[c]), 0.0F, w);
      else if (o_.kind == OptimizerKind::lamb)
        row[c] = fp32_.multiply_add(-(o_.learning_rate * ratio), directions_[c], w);
      else if (o_.kind != OptimizerKind::none)
        row[c] = decayed(w, change(state, c, dim, gradient[c]), w);
    }
  }

 private:
  /// x + change, less lr wd w.
  float decayed(float x, float change, float w) {
    if (o_.weight_decay == 0.0F || o_.weight_decay_mode == WeightDecay::l2) return x + change;
    if (x == w && fp32_.by_chance()) return w * (1.0F - o_.learning_rate * o_.weight_decay) + change;
    return fp32_.multiply_add(-(o_.learning_rate * o_.weight_decay), w, x + change);
  }

  float change(std::vector<float>& state, std::size_t c, std::size_t dim, float g) {
    const float lr = o_.learning_rate;
    switch (o_.kind) {
      case OptimizerKind::sgd:
        return -lr * g;
      case OptimizerKind::momentum:
      case OptimizerKind::nesterov:
        return momentum(state[c], g);
      case OptimizerKind::adagrad:
        return adaptive(state[c] = fp32_.multiply_add(g, g, state[c]), g);
      case OptimizerKind::rowwise_adagrad:
        return adaptive(state[0], g);
      case OptimizerKind::rmsprop:
        return adaptive(state[c] = mean(o_.decay, state[c], g * g), g);
      case OptimizerKind::adam:
        state[dim + c] = mean(o_.beta2, state[dim + c], g * g);
        state[c] = mean(o_.beta1, state[c], g);
        return -lr * direction(state[c], state[dim + c]);
      default:  // rowwise_adam
        state[c] = mean(o_.beta1, state[c], g);
        return -lr * direction(state[c], state[dim]);
    }
  }

  float momentum(float& m, float g) {
    const float b = o_.momentum, before = m;
    m = fp32_.by_chance() ? fp32_.multiply_add(b, m, -o_.learning_rate * g)
                          : fp32_.multiply_add(-o_.learning_rate, g, b * m);
    if (o_.kind == OptimizerKind::momentum) return m;
    return fp32_.by_chance() ? fp32_.multiply_add(b, m - before, m) : fp32_.multiply_add(1.0F + b, m, -b * before);
  }

  float adaptive(float s, float g) {
    const float root = std::sqrt(s) + o_.epsilon;
    return fp32_.by_chance() ? -(o_.learning_rate * g) / root : -(o_.learning_rate / root) * g;
  }

  float ftrl(float& n, float& z, float w, float g) {
    const float e = 0x1p-23F, root = std::sqrt(n + e);
    n = fp32_.multiply_add(g, g, n);
    const float new_root = std::sqrt(n + e);
    z = z + fp32_.multiply_add(-fp32_.quotient(new_root - root, o_.learning_rate), w, g);
    if (std::abs(z) <= o_.l1) return 0.0F;
    return (std::copysign(o_.l1, z) - z) / (fp32_.quotient(o_.beta + new_root, o_.learning_rate) + o_.l2);
  }

  /// |w| / |r|; leaves r in directions_.
  float trust_ratio(const std::vector<float>& row, std::vector<float>& state, const std::vector<float>& gradient) {
    const std::size_t dim = row.size();
    directions_.clear();
    std::vector<float> w2, r2;
    for (std::size_t c = 0; c < dim; ++c) {
      state[c] = mean(o_.beta1, state[c], gradient[c]);
      state[dim + c] = mean(o_.beta2, state[dim + c], gradient[c] * gradient[c]);
      float r = direction(state[c], state[dim + c]);
      if (o_.weight_decay_mode == WeightDecay::decoupled) r = fp32_.multiply_add(o_.weight_decay, row[c], r);
      directions_.push_back(r);
      w2.push_back(row[c] * row[c]);
      r2.push_back(r * r);
    }
    const float w = fp32_.sum(w2), r = fp32_.sum(r2);
    if (w == 0.0F || r == 0.0F) return 1.0F;
    return fp32_.by_chance() ? std::sqrt(w) / std::sqrt(r) : std::sqrt(w / r);
  }

  float mean(float b, float old, float x) {
    return fp32_.by_chance() ? fp32_.multiply_add(b, old, (1.0F - b) * x) : fp32_.multiply_add(1.0F - b, x, b * old);
  }

  float mean_square(const std::vector<float>& gradient) {
    std::vector<float> squares;
    for (const float g : gradient) squares.push_back(g * g);
    return fp32_.sum(squares) / static_cast<float>(gradient.size());
  }

  /// m^ / (sqrt(v^) + eps), the corrections as they stand or drawn together.
  float direction(float m, float v) {
    if (fp32_.by_chance())
      return fp32_.quotient(m, correction1_) / (std::sqrt(fp32_.quotient(v, correction2_)) + o_.epsilon);
    const float root = std::sqrt(correction2_);
    return root / correction1_ * m / (std::sqrt(v) + o_.epsilon * root);
  }

  Optimizer o_;
  float correction1_, correction2_;
  FloatArithmetic& fp32_;
  std::vector<float> directions_;
};

}  // namespace shardmark::reference
