// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "workloads/measure/calibrate/non_negative_least_squares.hpp"

namespace shardmark::workloads {
namespace {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

double squares(const Matrix& rows, const Vector& b, const Vector& x) {
  double sum = 0.0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    double left = b[r];
    for (std::size_t c = 0; c < x.size(); ++c) left -= rows[r][c] * x[c];
    sum += left * left;
  }
  return sum;
}

TEST(NonNegativeLeastSquares, SolvesWhatHasASolution) {
  const Matrix rows{{1, 0, 2}, {0, 3, 1}, {4, 1, 0}, {1, 1, 1}};
  EXPECT_EQ(non_negative_least_squares(rows, Vector{0, 0, 0, 0}), Vector(3));
  const Vector x = non_negative_least_squares(rows, Vector{7, 9, 6, 6});  // 1, 2, 3
  for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(x[c], static_cast<double>(c) + 1.0, 1e-9);
}

TEST(NonNegativeLeastSquares, StopsAtZeroWhereTheBestIsNegative) {
  const Matrix rows{{1, 1}, {1, 2}, {1, 3}};
  const Vector x = non_negative_least_squares(rows, Vector{3, 2, 1});  // 4 - column 1
  EXPECT_NEAR(x[0], 2.0, 1e-9);
  EXPECT_EQ(x[1], 0.0);
}

TEST(NonNegativeLeastSquares, LeavesOutWhatSaysNothing) {
  const Matrix rows{{2, 0, 4, 1}, {1, 0, 2, 5}, {3, 0, 6, 1}};  // column 2 = 2 column 0
  const Vector b{6, 13, 8};
  const Vector x = non_negative_least_squares(rows, b);
  EXPECT_EQ(x[1], 0.0);
  EXPECT_TRUE(x[0] == 0.0 || x[2] == 0.0);
  EXPECT_LT(squares(rows, b, x), squares(rows, b, {2, 0, 0, 2}) + 1e-9);
  EXPECT_TRUE(non_negative_least_squares({}, {}).empty());
  EXPECT_THROW(non_negative_least_squares(rows, Vector{1}), std::invalid_argument);
}

TEST(NonNegativeLeastSquares, TakesColumnsOfAnyScale) {
  const Matrix rows{{1e6, 1e-3}, {2e6, 5e-3}, {1e6, 9e-3}};
  const Vector x = non_negative_least_squares(rows, Vector{1.1, 2.5, 1.9});  // 1e-6, 100
  EXPECT_NEAR(x[0] * 1e6, 1.0, 1e-8);
  EXPECT_NEAR(x[1], 100.0, 1e-6);
}

/// The conditions of Karush, Kuhn and Tucker: x >= 0; the gradient is 0 where x > 0, and does not fall where x = 0.
TEST(NonNegativeLeastSquares, IsTheBestOfRandomSystems) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::normal_distribution<double> draw;
    const std::size_t columns = 1 + seed % 12, count = columns + seed % 7;
    Matrix rows(count, Vector(columns));
    Vector b(count);
    for (Vector& row : rows)
      for (double& value : row) value = draw(random);
    for (double& value : b) value = draw(random);
    const Vector x = non_negative_least_squares(rows, b);
    for (std::size_t c = 0; c < columns; ++c) {
      double gradient = 0.0;
      for (std::size_t r = 0; r < count; ++r) {
        double left = -b[r];
        for (std::size_t k = 0; k < columns; ++k) left += rows[r][k] * x[k];
        gradient += left * rows[r][c];
      }
      EXPECT_GE(x[c], 0.0);
      EXPECT_GT(gradient, -1e-7);
      if (x[c] > 0.0) {
        EXPECT_LT(gradient, 1e-7);
      }
    }
  }
}

}  // namespace
}  // namespace shardmark::workloads
