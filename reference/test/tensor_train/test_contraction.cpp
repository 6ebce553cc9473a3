// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "reference/test/tensor_train/random_train.hpp"

namespace shardmark::reference {
namespace {

/// Entry (row, column) as a sum over all choices of r_1 .. r_(cores-1), one index at a time.
double entry(const TensorTrainShape& shape, const std::vector<std::vector<double>>& cores, std::int64_t row,
             std::int64_t column) {
  std::array<std::int64_t, TensorTrainShape::most_cores> i{}, j{};
  for (int t = shape.cores - 1; t >= 0; --t) {
    i[t] = row % shape.p[t];
    row /= shape.p[t];
    j[t] = column % shape.q[t];
    column /= shape.q[t];
  }
  const auto from = [&](const auto& self, int t, std::int64_t left) -> double {
    if (t == shape.cores) return 1.0;
    double sum = 0.0;
    for (std::int64_t right = 0; right < shape.r[t + 1]; ++right)
      sum += cores[t][((i[t] * shape.r[t] + left) * shape.q[t] + j[t]) * shape.r[t + 1] + right] *
             self(self, t + 1, right);
    return sum;
  };
  return from(from, 0, 0);
}

template <class Visit>
void for_each_tt(Visit&& visit) {
  for (int cores = 2; cores <= TensorTrainShape::most_cores; ++cores)
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
      std::mt19937 random(seed * 31 + static_cast<std::uint32_t>(cores));
      const TensorTrainShape shape = random_shape(cores, random);
      SCOPED_TRACE(text(shape) + ", seed " + std::to_string(seed));
      visit(shape, random_cores(shape, random), random);
    }
}

TEST(Contraction, IsTheSumOverAllRanks) {
  for_each_tt([](const TensorTrainShape& shape, const auto& cores, std::mt19937&) {
    const auto table = full_table(shape, cores);
    ASSERT_EQ(std::ssize(table), shape.rows() * shape.dim());
    for (std::int64_t row = 0; row < shape.rows(); ++row)
      for (std::int64_t column = 0; column < shape.dim(); ++column)
        ASSERT_NEAR(table[row * shape.dim() + column], entry(shape, cores, row, column), 1e-12) << row << " " << column;
  });
}

TEST(Contraction, KeepsTheProductsOfLeadingDigits) {
  for_each_tt([](const TensorTrainShape& shape, const auto& cores, std::mt19937&) {
    RowContraction kept(shape), fresh(shape);
    auto before = shape.digits(0);
    for (std::int64_t row = 0; row < shape.rows(); ++row) {
      const auto digits = shape.digits(row);
      int alike = 0;
      while (row > 0 && alike < shape.cores && digits[alike] == before[alike]) ++alike;
      before = digits;
      const auto slices = slices_of(shape, cores, row);
      EXPECT_TRUE(std::ranges::equal(kept.row(slices, alike), fresh.row(slices)));
    }
  });
}

/// The row is linear in each slice, so that differences over a step of any size are its derivatives but for rounding.
TEST(Contraction, GradientsAreFiniteDifferences) {
  for_each_tt([](const TensorTrainShape& shape, auto cores, std::mt19937& random) {
    const auto row = static_cast<std::int64_t>(random()) % shape.rows();
    std::vector<double> gradient(static_cast<std::size_t>(shape.dim()));
    for (double& g : gradient) g = static_cast<double>(random() % 9) - 4.0;
    RowContraction contraction(shape);
    const auto loss = [&] {
      const auto values = contraction.row(slices_of(shape, cores, row));
      double sum = 0.0;
      for (std::size_t c = 0; c < gradient.size(); ++c) sum += gradient[c] * values[c];
      return sum;
    };
    std::vector<std::vector<double>> found;
    SliceGradients sums;
    for (int t = 0; t < shape.cores; ++t) found.emplace_back(shape.slice_elements(t), 0.5);  // what is added to
    for (int t = 0; t < shape.cores; ++t) sums[t] = found[t];
    loss();
    contraction.add_gradients(gradient, sums);
    for (int t = 0; t < shape.cores; ++t)
      for (std::int64_t e = 0; e < shape.slice_elements(t); ++e) {
        double& x = cores[t][shape.digits(row)[t] * shape.slice_elements(t) + e];
        const double before = x;
        x = before + 0.5;
        const double above = loss();
        x = before - 0.5;
        const double below = loss();
        x = before;
        ASSERT_NEAR(found[t][e] - 0.5, above - below, 1e-10) << "core " << t << ", element " << e;
      }
  });
}

}  // namespace
}  // namespace shardmark::reference
