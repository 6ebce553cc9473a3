// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "reference/dense/matrix.hpp"

namespace shardmark::reference {

using DoubleMatrix = Matrix<double>;

/// found = d loss() / d x, element by element; loss() reads x. Central differences are off by about h^2 and 1e-16 / h.
template <class Loss>
void expect_gradient(Matrix<double>& x, const Matrix<double>& found, Loss&& loss) {
  constexpr double h = 1e-5;
  ASSERT_TRUE(found.same_shape(x)) << found.rows << " by " << found.columns;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const double at = x.values[i];
    x.values[i] = at + h;
    const double above = loss();
    x.values[i] = at - h;
    const double below = loss();
    x.values[i] = at;
    ASSERT_NEAR(found.values[i], (above - below) / (2.0 * h), 1e-7 * (1.0 + std::abs(found.values[i])))
        << "element " << i;
  }
}

/// sum of the elements of y times those of g: the loss whose gradient by y is g.
inline double against(const Matrix<double>& y, const Matrix<double>& g) {
  return sum_of_products(std::span<const double>(y.values), std::span<const double>(g.values));
}

}  // namespace shardmark::reference
