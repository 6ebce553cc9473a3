// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>

#include "reference/dense/dense_spec.hpp"
#include "reference/dense/matrix.hpp"

namespace shardmark::reference {

/// Computes y = x W^T + b: x [samples, inputs], W [outputs, inputs], b [outputs, 1], y [samples, outputs].
template <class Number>
Matrix<Number> linear(const Matrix<Number>& x, const Matrix<Number>& weight, const Matrix<Number>& bias,
                      const Products& products = {}) {
  return plus_row(times_transposed(x, weight, products), bias);
}

template <class Number>
struct LinearGradients {
  Matrix<Number> x, weight, bias;
};

/// Computes from the gradient dy of y: dx = dy W, dW = dy^T x, db = sum of dy over the samples.
template <class Number>
LinearGradients<Number> linear_backward(const Matrix<Number>& x, const Matrix<Number>& weight,
                                        const Matrix<Number>& gradient, const GradientProducts<Number>& products = {}) {
  const Matrix<Number>& summed = with_factors(gradient, products.factors);
  return {times_weights(gradient, weight, products), summed_products(summed, x, products), sum_of_rows(summed)};
}

/// Returns max(z, 0).
template <std::floating_point Number>
Number relu(Number z) {
  return z > 0 ? z : 0;
}

/// Returns the gradient of z, where g is that of y = relu(z): g where y > 0, else 0, also where z = 0 (as in PyTorch).
template <std::floating_point Number>
Number relu_backward(Number y, Number g) {
  return y > 0 ? g : 0;
}

/// Holds what the low-rank cross layers (DCN V2: Wang et al. 2021; LowRankCrossNet of TorchRec, which MLPerf runs)
/// compute of x_0 [samples, n]. * is the product element by element:
///   v_l = x_l V_l^T,  t_l = v_l W_l^T + b_l,  x_(l+1) = x_0 * t_l + x_l
/// with V_l [rank, n], W_l [n, rank], b_l [n, 1], in this order for each layer in turn.
template <class Number>
struct Crossed {
  std::vector<Matrix<Number>> x;     ///< [layers + 1], x.back() is the output
  std::vector<Matrix<Number>> v, t;  ///< [layers]
};

template <class Number>
Crossed<Number> cross(std::span<const Matrix<Number>> layers, Matrix<Number> x0, const Products& products = {}) {
  Crossed<Number> kept;
  kept.x.push_back(std::move(x0));
  for (std::size_t l = 0; l < layers.size(); l += 3) {
    kept.v.push_back(times_transposed(kept.x.back(), layers[l], products));
    kept.t.push_back(linear(kept.v.back(), layers[l + 1], layers[l + 2], products));
    kept.x.push_back(times(kept.x.front(), kept.t.back()) + kept.x.back());
  }
  return kept;
}

/// Returns the gradient of x_0 from that of the output, g; writes those of V, W and b to layer_gradients, in their
/// order:
///   dt = g * x_0,  dW = dt^T v,  db = sum of dt over the samples,  dv = dt W,  dV = dv^T x_l,
///   dx_l = g + dv V,  and x_0 gets g * t of every layer besides.
template <class Number>
Matrix<Number> cross_backward(std::span<const Matrix<Number>> layers, const Crossed<Number>& kept,
                              Matrix<Number> gradient, std::span<Matrix<Number>> layer_gradients,
                              const GradientProducts<Number>& products = {}) {
  const Matrix<Number>& x0 = kept.x.front();
  Matrix<Number> of_x0(x0.rows, x0.columns);
  for (std::size_t l = kept.t.size(); l-- > 0;) {
    of_x0 = of_x0 + times(gradient, kept.t[l]);
    LinearGradients<Number> outer = linear_backward(kept.v[l], layers[3 * l + 1], times(gradient, x0), products);
    layer_gradients[3 * l] = summed_products(with_factors(outer.x, products.factors), kept.x[l], products);
    layer_gradients[3 * l + 1] = std::move(outer.weight);
    layer_gradients[3 * l + 2] = std::move(outer.bias);
    gradient = gradient + times_weights(outer.x, layers[3 * l], products);
  }
  return of_x0 + gradient;
}

/// Lists the layers of an MLP: weight [outputs, inputs] and bias [outputs, 1] of each in turn. Without layers its
/// output is its input.
template <class Number>
using Layers = std::span<const Matrix<Number>>;

/// Selects what is behind the last layer; a ReLU is behind all others.
enum class MlpEnd { relu, linear };

/// Returns all activations, the last being the output: a_0 = x, a_(l+1) = relu(a_l W_l^T + b_l).
template <class Number>
std::vector<Matrix<Number>> mlp(Layers<Number> layers, Matrix<Number> x, MlpEnd end, const Products& products = {}) {
  std::vector<Matrix<Number>> activations{std::move(x)};
  for (std::size_t l = 0; l < layers.size(); l += 2) {
    Matrix<Number> y = linear(activations.back(), layers[l], layers[l + 1], products);
    if (end == MlpEnd::relu || l + 2 < layers.size())
      for (Number& z : y.values) z = relu(z);
    activations.push_back(std::move(y));
  }
  return activations;
}

/// Returns the gradient of x from that of the output; writes those of the weights and biases to layer_gradients, in
/// their order. activations: the result of mlp().
template <class Number>
Matrix<Number> mlp_backward(Layers<Number> layers, const std::vector<Matrix<Number>>& activations, MlpEnd end,
                            Matrix<Number> gradient, std::span<Matrix<Number>> layer_gradients,
                            const GradientProducts<Number>& products = {}) {
  for (std::size_t l = layers.size() / 2; l-- > 0;) {
    if (end == MlpEnd::relu || 2 * l + 2 < layers.size())
      gradient =
          combined(activations[l + 1], gradient, [](const Number& y, const Number& g) { return relu_backward(y, g); });
    LinearGradients<Number> of = linear_backward(activations[l], layers[2 * l], gradient, products);
    layer_gradients[2 * l] = std::move(of.weight);
    layer_gradients[2 * l + 1] = std::move(of.bias);
    gradient = std::move(of.x);
  }
  return gradient;
}

/// Returns (p_0, p_1, ..) of each sample: parts [samples, width of each], result [samples, sum of the widths].
template <class Number>
Matrix<Number> concatenation(std::span<const Matrix<Number>> parts, std::int64_t samples) {
  std::int64_t width = 0;
  for (const auto& part : parts) width += part.columns;
  Matrix<Number> result(samples, width);
  std::int64_t first = 0;
  for (const auto& part : parts) {
    for (std::int64_t s = 0; s < samples; ++s) std::ranges::copy(part.row(s), &result.at(s, first));
    first += part.columns;
  }
  return result;
}

/// Returns the parts of these widths: splits what concatenation() put together, and its gradient.
template <class Number>
std::vector<Matrix<Number>> split(const Matrix<Number>& whole, std::span<const std::int64_t> widths) {
  std::vector<Matrix<Number>> parts;
  std::int64_t first = 0;
  for (const std::int64_t width : widths) {
    parts.emplace_back(whole.rows, width);
    for (std::int64_t s = 0; s < whole.rows; ++s)
      std::ranges::copy(whole.row(s).subspan(first, width), parts.back().values.begin() + s * width);
    first += width;
  }
  return parts;
}

/// Returns the place of vector i's product with vector j < i: row by row of the lower triangle of the matrix of all
/// products, without its diagonal: (1,0) (2,0) (2,1) (3,0) ... This is interact_features() of facebookresearch/dlrm
/// with arch_interaction_itself off, its default and that of all published models. TorchRec's InteractionArch has the
/// same products in the order of the upper triangle, (0,1) (0,2) ...; HugeCTR's Interaction adds a column of zeros.
constexpr std::int64_t dot_place(std::int64_t i, std::int64_t j) { return i * (i - 1) / 2 + j; }

/// Computes z = e_i . e_j for each two of n vectors: vectors [samples, dim] each, result [samples, n (n - 1) / 2].
template <class Number>
Matrix<Number> dot_interaction(std::span<const Matrix<Number>> vectors, std::int64_t samples) {
  const std::int64_t n = std::ssize(vectors);
  Matrix<Number> result(samples, n * (n - 1) / 2);
  for (std::int64_t s = 0; s < samples; ++s)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < i; ++j)
        result.at(s, dot_place(i, j)) = sum_of_products(vectors[i].row(s), vectors[j].row(s));
  return result;
}

/// Computes de_i = sum over j != i of dz_ij e_j, of each vector.
template <class Number>
std::vector<Matrix<Number>> dot_interaction_backward(std::span<const Matrix<Number>> vectors,
                                                     const Matrix<Number>& gradient) {
  const std::int64_t n = std::ssize(vectors);
  std::vector<Matrix<Number>> result;
  std::vector<Number> factors(n), values(n);  // dz_ij and e_j of one column, by j
  for (std::int64_t i = 0; i < n; ++i) {
    result.emplace_back(gradient.rows, vectors[i].columns);
    for (std::int64_t s = 0; s < gradient.rows; ++s)
      for (std::int64_t c = 0; c < vectors[i].columns; ++c) {
        for (std::int64_t j = 0; j < n; ++j) {
          factors[j] = i == j ? Number{} : gradient.at(s, i > j ? dot_place(i, j) : dot_place(j, i));
          values[j] = vectors[j].at(s, c);
        }
        result[i].at(s, c) = sum_of_products(std::span<const Number>(factors), std::span<const Number>(values));
      }
  }
  return result;
}

/// Describes means over `stride` neighbouring values of n, n / stride of them, rounded up: Keras' AveragePooling1D with
/// padding "same", by which the synthetic models of distributed-embeddings stand in for an interaction. What is missing
/// at the ends, m = stride means - n values, is missing half at the beginning (m / 2, rounded down) and half at the
/// end, and is not counted. Window w holds the values
///   first(w) = max(w stride - m / 2, 0) .. last(w) = min((w + 1) stride - m / 2, n), without the last.
class Windows {
 public:
  constexpr Windows(std::int64_t values, std::int64_t stride)
      : values_(values), stride_(stride), count_((values + stride - 1) / stride) {}

  constexpr std::int64_t count() const { return count_; }
  constexpr std::int64_t first(std::int64_t window) const {
    return std::max<std::int64_t>(window * stride_ - before(), 0);
  }
  constexpr std::int64_t last(std::int64_t window) const {
    return std::min((window + 1) * stride_ - before(), values_);
  }
  /// Returns the window of a value.
  constexpr std::int64_t of(std::int64_t value) const { return (value + before()) / stride_; }
  constexpr double weight(std::int64_t window) const { return 1.0 / static_cast<double>(last(window) - first(window)); }

 private:
  constexpr std::int64_t before() const { return (count_ * stride_ - values_) / 2; }

  std::int64_t values_, stride_, count_;
};

/// Averages the values of each window: x [samples, n], result [samples, means].
template <class Number>
Matrix<Number> average_neighbours(const Matrix<Number>& x, std::int64_t stride) {
  const Windows windows(x.columns, stride);
  Matrix<Number> result(x.rows, windows.count());
  for (std::int64_t s = 0; s < x.rows; ++s)
    for (std::int64_t w = 0; w < windows.count(); ++w) {
      const auto window = x.row(s).subspan(windows.first(w), windows.last(w) - windows.first(w));
      const std::vector<Number> weights(window.size(), static_cast<Number>(windows.weight(w)));
      result.at(s, w) = sum_of_products(window, std::span<const Number>(weights));
    }
  return result;
}

/// Gives each of the n values the gradient of its mean, divided by the number of values in that.
template <class Number>
Matrix<Number> average_neighbours_backward(const Matrix<Number>& gradient, std::int64_t values, std::int64_t stride) {
  const Windows windows(values, stride);
  Matrix<Number> result(gradient.rows, values);
  for (std::int64_t s = 0; s < gradient.rows; ++s)
    for (std::int64_t w = 0; w < windows.count(); ++w)
      for (std::int64_t i = windows.first(w); i < windows.last(w); ++i)
        result.at(s, i) = gradient.at(s, w) * static_cast<Number>(windows.weight(w));
  return result;
}

/// Holds the interaction of lead and pooled embeddings, x of DenseSpec, and what its gradients need.
template <class Number>
struct Interacted {
  Matrix<Number> x;                         ///< [samples, top_inputs()]
  std::vector<Matrix<Number>> dotted = {};  ///< dlrm
  Crossed<Number> crossed = {};             ///< dcnv2
};

template <class Number>
struct InteractionGradients {
  Matrix<Number> lead;
  std::vector<Matrix<Number>> vectors;
};

template <class Number>
std::vector<Matrix<Number>> with_lead(const Matrix<Number>& lead, std::vector<Matrix<Number>> others) {
  others.insert(others.begin(), lead);
  return others;
}

/// Combines lead and pooled embeddings. lead [samples, lead_width()], vectors by feature [samples, widths[f]];
/// cross_layers: the blocks of dcnv2.
template <class Number>
Interacted<Number> interact(const DenseSpec& spec, std::span<const Matrix<Number>> cross_layers,
                            const Matrix<Number>& lead, const std::vector<Matrix<Number>>& vectors,
                            const Products& products = {}) {
  const auto joined = [&](const std::vector<Matrix<Number>>& parts) {
    return concatenation(std::span<const Matrix<Number>>(parts), lead.rows);
  };
  if (spec.kind == DenseKind::dlrm) {
    auto dotted = spec.bottom_mlp.empty() ? vectors : with_lead(lead, vectors);
    auto dots = dot_interaction(std::span<const Matrix<Number>>(dotted), lead.rows);
    return {.x = joined({lead, std::move(dots)}), .dotted = std::move(dotted)};
  }
  if (spec.kind == DenseKind::dcnv2) {
    auto crossed = cross(cross_layers, joined(with_lead(lead, vectors)), products);
    return {.x = crossed.x.back(), .crossed = std::move(crossed)};
  }
  return {.x = joined({average_neighbours(joined(vectors), spec.stride), lead})};
}

template <class Number>
InteractionGradients<Number> dot_gradients(const DenseSpec& spec, const Interacted<Number>& kept,
                                           const Matrix<Number>& gradient) {
  const std::vector<std::int64_t> widths{spec.lead_width(), spec.top_inputs() - spec.lead_width()};
  auto parts = split(gradient, widths);
  auto vectors = dot_interaction_backward(std::span<const Matrix<Number>>(kept.dotted), parts[1]);
  if (spec.bottom_mlp.empty()) return {std::move(parts[0]), std::move(vectors)};
  Matrix<Number> lead = parts[0] + vectors.front();
  vectors.erase(vectors.begin());
  return {std::move(lead), std::move(vectors)};
}

/// Returns the gradients of lead and vectors from that of x; writes those of the cross layers.
template <class Number>
InteractionGradients<Number> interact_backward(const DenseSpec& spec, std::span<const Matrix<Number>> cross_layers,
                                               const Interacted<Number>& kept, const Matrix<Number>& gradient,
                                               std::span<Matrix<Number>> layer_gradients,
                                               const GradientProducts<Number>& products = {}) {
  if (spec.kind == DenseKind::dlrm) return dot_gradients(spec, kept, gradient);
  if (spec.kind == DenseKind::dcnv2) {
    std::vector<std::int64_t> widths{spec.lead_width()};
    widths.insert(widths.end(), spec.widths.begin(), spec.widths.end());
    auto vectors = split(cross_backward(cross_layers, kept.crossed, gradient, layer_gradients, products), widths);
    Matrix<Number> lead = std::move(vectors.front());
    vectors.erase(vectors.begin());
    return {std::move(lead), std::move(vectors)};
  }
  const std::vector<std::int64_t> widths{spec.top_inputs() - spec.lead_width(), spec.lead_width()};
  auto parts = split(gradient, widths);
  const auto averaged = average_neighbours_backward(parts[0], spec.width_of_vectors(), spec.stride);
  return {std::move(parts[1]), split(averaged, spec.widths)};
}

}  // namespace shardmark::reference
