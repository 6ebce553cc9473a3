// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/dense/average_neighbours.hpp"
#include "reference/dense/concat.hpp"
#include "reference/dense/cross.hpp"
#include "reference/dense/dense_spec.hpp"
#include "reference/dense/dot_interaction.hpp"

namespace shardmark::reference {

/// Where lead and pooled vectors meet, x of DenseSpec, and what its gradients need.
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

/// lead [samples, lead_width()], vectors by feature [samples, widths[f]]; cross_layers: the blocks of dcnv2.
template <class Number>
Interacted<Number> interact(const DenseSpec& spec, std::span<const Matrix<Number>> cross_layers,
                            const Matrix<Number>& lead, const std::vector<Matrix<Number>>& vectors) {
  const auto joined = [&](const std::vector<Matrix<Number>>& parts) {
    return concatenation(std::span<const Matrix<Number>>(parts), lead.rows);
  };
  if (spec.kind == DenseKind::dlrm) {
    auto dotted = spec.bottom_mlp.empty() ? vectors : with_lead(lead, vectors);
    auto products = dot_interaction(std::span<const Matrix<Number>>(dotted), lead.rows);
    return {.x = joined({lead, std::move(products)}), .dotted = std::move(dotted)};
  }
  if (spec.kind == DenseKind::dcnv2) {
    auto crossed = cross(cross_layers, joined(with_lead(lead, vectors)));
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

/// By the gradient of x; writes those of the cross layers.
template <class Number>
InteractionGradients<Number> interact_backward(const DenseSpec& spec, std::span<const Matrix<Number>> cross_layers,
                                               const Interacted<Number>& kept, const Matrix<Number>& gradient,
                                               std::span<Matrix<Number>> layer_gradients) {
  if (spec.kind == DenseKind::dlrm) return dot_gradients(spec, kept, gradient);
  if (spec.kind == DenseKind::dcnv2) {
    std::vector<std::int64_t> widths{spec.lead_width()};
    widths.insert(widths.end(), spec.widths.begin(), spec.widths.end());
    auto vectors = split(cross_backward(cross_layers, kept.crossed, gradient, layer_gradients), widths);
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
