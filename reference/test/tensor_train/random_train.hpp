// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "reference/tensor_train/contraction.hpp"

namespace shardmark::reference {

/// A shape of odd factors, a few hundred rows at most.
inline TensorTrainShape random_shape(int cores, std::mt19937& random) {
  const auto draw = [&](std::int64_t most) { return std::int64_t{1} + static_cast<std::int64_t>(random()) % most; };
  TensorTrainShape shape{.cores = cores};
  shape.r[0] = shape.r[cores] = 1;
  for (int t = 0; t < cores; ++t) {
    shape.p[t] = draw(cores < 4 ? 7 : 3);
    shape.q[t] = draw(cores < 4 ? 5 : 3);
    if (t > 0) shape.r[t] = draw(5);
  }
  return shape;
}

inline std::vector<std::vector<double>> random_cores(const TensorTrainShape& shape, std::mt19937& random) {
  std::uniform_real_distribution<double> entry(-1.0, 1.0);
  std::vector<std::vector<double>> cores;
  for (int t = 0; t < shape.cores; ++t) {
    cores.emplace_back(static_cast<std::size_t>(shape.p[t] * shape.slice_elements(t)));
    for (double& x : cores.back()) x = entry(random);
  }
  return cores;
}

inline Slices slices_of(const TensorTrainShape& shape, const std::vector<std::vector<double>>& cores,
                        std::int64_t row) {
  const auto digits = shape.digits(row);
  Slices slices;
  for (int t = 0; t < shape.cores; ++t)
    slices[t] = std::span(cores[t]).subspan(digits[t] * shape.slice_elements(t), shape.slice_elements(t));
  return slices;
}

inline std::string text(const TensorTrainShape& shape) {
  std::string text = "p, q, r:";
  for (int t = 0; t < shape.cores; ++t)
    text += " " + std::to_string(shape.p[t]) + "," + std::to_string(shape.q[t]) + "," + std::to_string(shape.r[t + 1]);
  return text;
}

}  // namespace shardmark::reference
