// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>
#include <string>

#include "reference/dense/dense_pass.hpp"

namespace shardmark::reference {

inline Matrix<double> random_matrix(std::int64_t rows, std::int64_t columns, std::mt19937& random) {
  std::normal_distribution<double> normal;
  Matrix<double> result(rows, columns);
  for (double& x : result.values) x = static_cast<double>(static_cast<float>(normal(random)));
  return result;
}

inline DenseInput<double> random_input(const DenseSpec& spec, std::int64_t samples, std::mt19937& random) {
  DenseInput<double> input;
  for (const std::int64_t width : spec.widths) input.vectors.push_back(random_matrix(samples, width, random));
  input.numerical = random_matrix(samples, spec.numerical_features, random);
  for (std::int64_t s = 0; s < samples; ++s) input.labels.push_back(static_cast<float>(random() % 2));
  return input;
}

template <class To>
DenseInput<To> converted(const DenseInput<double>& input) {
  return {converted<To>(input.vectors), converted<To>(input.numerical), input.labels};
}

/// Models of odd shapes: one feature, no numerical features, no bottom MLP, a stride that leaves a rest.
inline const std::vector<std::pair<std::string, DenseSpec>> small_models{
    {"mlp", {.kind = DenseKind::mlp, .widths = {3, 1, 4}, .numerical_features = 2, .top_mlp = {5, 3, 1}}},
    {"mlp, stride", {.widths = {3, 1, 4}, .numerical_features = 2, .top_mlp = {4, 1}, .stride = 3}},
    {"mlp, stride of all", {.widths = {2, 2}, .top_mlp = {3, 1}, .stride = 7}},
    {"mlp, bottom", {.widths = {2}, .numerical_features = 3, .bottom_mlp = {4, 2}, .top_mlp = {3, 1}}},
    {"mlp, one value", {.widths = {1}, .top_mlp = {1}}},
    {"dlrm",
     {.kind = DenseKind::dlrm,
      .widths = {3, 3, 3},
      .numerical_features = 2,
      .bottom_mlp = {4, 3},
      .top_mlp = {5, 2, 1}}},
    {"dlrm, one feature",
     {.kind = DenseKind::dlrm, .widths = {2}, .numerical_features = 1, .bottom_mlp = {2}, .top_mlp = {3, 1}}},
    {"dlrm, no numerical", {.kind = DenseKind::dlrm, .widths = {2, 2, 2}, .top_mlp = {4, 1}}},
    {"dlrm, no bottom", {.kind = DenseKind::dlrm, .widths = {2, 2}, .numerical_features = 3, .top_mlp = {4, 1}}},
    {"dcnv2",
     {.kind = DenseKind::dcnv2,
      .widths = {3, 2},
      .numerical_features = 2,
      .bottom_mlp = {3, 2},
      .top_mlp = {4, 1},
      .cross_layers = 3,
      .cross_rank = 2}},
    {"dcnv2, one value", {.kind = DenseKind::dcnv2, .widths = {1}, .top_mlp = {1}, .cross_layers = 1, .cross_rank = 1}},
    {"dcnv2, no bottom",
     {.kind = DenseKind::dcnv2,
      .widths = {4},
      .numerical_features = 3,
      .top_mlp = {2, 1},
      .cross_layers = 2,
      .cross_rank = 5}},
};

}  // namespace shardmark::reference
