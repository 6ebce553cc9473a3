// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reference/test/dense/finite_differences.hpp"
#include "reference/test/dense/random_model.hpp"

namespace shardmark::reference {
namespace {

TEST(Layers, LinearByHand) {
  const DoubleMatrix x(2, 2, {1, 2, -1, 0}), weight(3, 2, {1, 0, 0, 1, 2, -1}), bias(3, 1, {0, 10, -1});
  EXPECT_EQ(linear(x, weight, bias), DoubleMatrix(2, 3, {1, 12, -1, -1, 10, -3}));
  const auto gradients = linear_backward(x, weight, DoubleMatrix(2, 3, {1, 1, 0, 0, 2, 1}));
  EXPECT_EQ(gradients.x, DoubleMatrix(2, 2, {1, 1, 2, 1}));
  EXPECT_EQ(gradients.weight, DoubleMatrix(3, 2, {1, 2, 1 - 2, 2, -1, 0}));
  EXPECT_EQ(gradients.bias, DoubleMatrix(3, 1, {1, 3, 1}));
}

TEST(Layers, ReluHasNoGradientAtZero) {
  EXPECT_EQ(relu(-2.0), 0.0);
  EXPECT_EQ(relu(2.0), 2.0);
  EXPECT_EQ(relu_backward(2.0, -3.0), -3.0);
  EXPECT_EQ(relu_backward(0.0, -3.0), 0.0);
}

TEST(Layers, ReluIsBehindEachLayerButMaybeTheLast) {
  const std::vector<DoubleMatrix> layers{DoubleMatrix(2, 1, {1, -1}), DoubleMatrix(2, 1), DoubleMatrix(1, 2, {-1, -2}),
                                         DoubleMatrix(1, 1)};
  const DoubleMatrix x(2, 1, {3, -4});
  EXPECT_EQ(mlp<double>(layers, x, MlpEnd::linear).back(), DoubleMatrix(2, 1, {-3, -8}));
  EXPECT_EQ(mlp<double>(layers, x, MlpEnd::relu).back(), DoubleMatrix(2, 1, {0, 0}));
  EXPECT_EQ(mlp<double>(layers, x, MlpEnd::relu)[1], DoubleMatrix(2, 2, {3, 0, 0, 4}));
  EXPECT_EQ(mlp<double>({}, x, MlpEnd::relu).back(), x);
}

TEST(Layers, ConcatenationAndSplitAreInverse) {
  const std::vector<DoubleMatrix> parts{DoubleMatrix(2, 1, {1, 2}), DoubleMatrix(2, 0),
                                        DoubleMatrix(2, 3, {3, 4, 5, 6, 7, 8})};
  const DoubleMatrix whole = concatenation<double>(parts, 2);
  EXPECT_EQ(whole, DoubleMatrix(2, 4, {1, 3, 4, 5, 2, 6, 7, 8}));
  EXPECT_EQ(split(whole, std::vector<std::int64_t>{1, 0, 3}), parts);
}

// Of 4 values in windows of 3, one is missing at each end; of 5, the one that is missing is at the end.
TEST(Layers, NeighboursAreAveragedAsKerasPads) {
  EXPECT_EQ(average_neighbours(DoubleMatrix(1, 4, {1, 3, 5, 9}), 3), DoubleMatrix(1, 2, {2, 7}));
  const DoubleMatrix five = average_neighbours(DoubleMatrix(1, 5, {1, 2, 6, 5, 9}), 3);
  EXPECT_DOUBLE_EQ(five.at(0, 0), 3);
  EXPECT_DOUBLE_EQ(five.at(0, 1), 7);
  EXPECT_EQ(average_neighbours(DoubleMatrix(1, 3, {1, 2, 3}), 1), DoubleMatrix(1, 3, {1, 2, 3}));
  EXPECT_EQ(average_neighbours(DoubleMatrix(1, 2, {1, 3}), 10), DoubleMatrix(1, 1, {2}));
  EXPECT_EQ(average_neighbours_backward(DoubleMatrix(1, 2, {4, 6}), 4, 3), DoubleMatrix(1, 4, {2, 2, 3, 3}));
}

// The products of e_0 = (1, 2), e_1 = (3, 4), e_2 = (5, 6), e_3 = (1, -1): rows of the lower triangle.
TEST(Layers, DotProductsAreTheLowerTriangleByRows) {
  const std::vector<DoubleMatrix> vectors{DoubleMatrix(1, 2, {1, 2}), DoubleMatrix(1, 2, {3, 4}),
                                          DoubleMatrix(1, 2, {5, 6}), DoubleMatrix(1, 2, {1, -1})};
  EXPECT_EQ(dot_interaction<double>(vectors, 1), DoubleMatrix(1, 6, {11, 17, 39, -1, -1, -1}));
  const auto gradients = dot_interaction_backward<double>(vectors, DoubleMatrix(1, 6, {1, 10, 100, 0, 0, 1000}));
  EXPECT_EQ(gradients[0], DoubleMatrix(1, 2, {3 + 50, 4 + 60}));
  EXPECT_EQ(gradients[1], DoubleMatrix(1, 2, {1 + 500, 2 + 600}));
  EXPECT_EQ(gradients[2], DoubleMatrix(1, 2, {10 + 300 + 1000, 20 + 400 - 1000}));
  EXPECT_EQ(gradients[3], DoubleMatrix(1, 2, {5000, 6000}));
  EXPECT_EQ(dot_interaction<double>(std::vector{DoubleMatrix(2, 3)}, 2), DoubleMatrix(2, 0));
}

// v = 1 * 2 + 2 * 1 = 4, t = (4, -4) + (1, 2) = (5, -2), x_1 = (2 * 5, 1 * -2) + (2, 1). Then v = 12 - 2 = 10,
// t = (0, 10), x_2 = x_0 * t + x_1 = (0, 10) + (12, -1).
TEST(Layers, CrossByHand) {
  const std::vector<DoubleMatrix> layers{DoubleMatrix(1, 2, {1, 2}), DoubleMatrix(2, 1, {1, -1}),
                                         DoubleMatrix(2, 1, {1, 2}), DoubleMatrix(1, 2, {1, 2}),
                                         DoubleMatrix(2, 1, {0, 1}), DoubleMatrix(2, 1)};
  const auto crossed = cross<double>(layers, DoubleMatrix(1, 2, {2, 1}));
  EXPECT_EQ(crossed.x[1], DoubleMatrix(1, 2, {12, -1}));
  EXPECT_EQ(crossed.x[2], DoubleMatrix(1, 2, {12, 9}));
}

template <class Visit>
void with_seeds(Visit&& visit) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    visit(random, 1 + static_cast<std::int64_t>(seed) % 3);
  }
}

TEST(Layers, GradientsOfMlpsAreFiniteDifferences) {
  with_seeds([](std::mt19937& random, std::int64_t samples) {
    for (const MlpEnd end : {MlpEnd::relu, MlpEnd::linear}) {
      std::vector<DoubleMatrix> layers{random_matrix(4, 3, random), random_matrix(4, 1, random),
                                       random_matrix(1, 4, random), random_matrix(1, 1, random),
                                       random_matrix(2, 1, random), random_matrix(2, 1, random)};
      DoubleMatrix x = random_matrix(samples, 3, random);
      const DoubleMatrix g = random_matrix(samples, 2, random);
      const auto loss = [&] { return against(mlp<double>(layers, x, end).back(), g); };
      std::vector<DoubleMatrix> found(layers.size());
      const DoubleMatrix of_x = mlp_backward<double>(layers, mlp<double>(layers, x, end), end, g, found);
      expect_gradient(x, of_x, loss);
      for (std::size_t l = 0; l < layers.size(); ++l) expect_gradient(layers[l], found[l], loss);
    }
  });
}

TEST(Layers, GradientsOfInteractionsAreFiniteDifferences) {
  with_seeds([](std::mt19937& random, std::int64_t samples) {
    std::vector<DoubleMatrix> vectors;
    for (int f = 0; f < 4; ++f) vectors.push_back(random_matrix(samples, 3, random));
    const DoubleMatrix g = random_matrix(samples, 6, random);
    const auto found = dot_interaction_backward<double>(vectors, g);
    for (std::size_t f = 0; f < vectors.size(); ++f)
      expect_gradient(vectors[f], found[f], [&] { return against(dot_interaction<double>(vectors, samples), g); });
    for (const std::int64_t stride : {1, 2, 3, 5, 8}) {
      DoubleMatrix x = random_matrix(samples, 7, random);
      const DoubleMatrix of_means = random_matrix(samples, (7 + stride - 1) / stride, random);
      expect_gradient(x, average_neighbours_backward(of_means, 7, stride),
                      [&] { return against(average_neighbours(x, stride), of_means); });
    }
  });
}

TEST(Layers, GradientsOfCrossLayersAreFiniteDifferences) {
  with_seeds([](std::mt19937& random, std::int64_t samples) {
    for (const std::int64_t rank : {1, 2, 6}) {
      std::vector<DoubleMatrix> layers;
      for (int l = 0; l < 3; ++l)
        for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{rank, 4}, {4, rank}, {4, 1}})
          layers.push_back(random_matrix(rows, columns, random));
      for (auto& layer : layers)
        for (double& x : layer.values) x *= 0.3;  // so that third powers stay near 1
      DoubleMatrix x0 = random_matrix(samples, 4, random);
      const DoubleMatrix g = random_matrix(samples, 4, random);
      const auto loss = [&] { return against(cross<double>(layers, x0).x.back(), g); };
      std::vector<DoubleMatrix> found(layers.size());
      const DoubleMatrix of_x0 = cross_backward<double>(layers, cross<double>(layers, x0), g, found);
      expect_gradient(x0, of_x0, loss);
      for (std::size_t l = 0; l < layers.size(); ++l) expect_gradient(layers[l], found[l], loss);
    }
  });
}

}  // namespace
}  // namespace shardmark::reference
