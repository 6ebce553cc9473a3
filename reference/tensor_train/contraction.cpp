// SPDX-License-Identifier: Apache-2.0
#include "reference/tensor_train/contraction.hpp"

#include <algorithm>

namespace shardmark::reference {
namespace {

/// Adds to c[m][n] sum_k a[m][k] b[k][n]; a[m][k] = a[m row + k column].
void multiply_add(std::int64_t rows, std::int64_t inner, std::int64_t columns, const double* a, std::int64_t row,
                  std::int64_t column, const double* b, double* c) {
  for (std::int64_t m = 0; m < rows; ++m)
    for (std::int64_t k = 0; k < inner; ++k) {
      const double factor = a[m * row + k * column];
      for (std::int64_t n = 0; n < columns; ++n) c[m * columns + n] += factor * b[k * columns + n];
    }
}

double dot(const double* a, const double* b, std::int64_t count) {
  std::array<double, 8> sums{};  // apart, so that their additions need not wait for each other
  std::int64_t n = 0;
  for (; n + 8 <= count; n += 8)
    for (std::int64_t lane = 0; lane < 8; ++lane) sums[lane] += a[n + lane] * b[n + lane];
  double sum = ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
  for (; n < count; ++n) sum += a[n] * b[n];
  return sum;
}

}  // namespace

RowContraction::RowContraction(const TensorTrainShape& shape) : shape_(shape) {
  std::int64_t columns = 1;
  for (int t = 0; t < shape.cores; ++t) {
    columns_[t] = columns;
    columns *= shape.q[t];
    products_[t].resize(static_cast<std::size_t>(columns * shape.r[t + 1]));
    gradients_[t].resize(products_[t].size());
  }
}

std::span<const double> RowContraction::row(const Slices& slices, int kept) {
  slices_ = slices;
  for (int t = kept; t < shape_.cores; ++t) {
    if (t == 0) {
      std::ranges::copy(slices[0], products_[0].begin());
      continue;
    }
    std::ranges::fill(products_[t], 0.0);
    multiply_add(columns_[t], shape_.r[t], shape_.q[t] * shape_.r[t + 1], products_[t - 1].data(), shape_.r[t], 1,
                 slices[t].data(), products_[t].data());
  }
  return products_[shape_.cores - 1];
}

void RowContraction::add_gradients(std::span<const double> gradient, const SliceGradients& sums) {
  std::ranges::copy(gradient, gradients_[shape_.cores - 1].begin());
  for (int t = shape_.cores - 1; t > 0; --t) {
    const std::int64_t columns = columns_[t], rank = shape_.r[t], width = shape_.q[t] * shape_.r[t + 1];
    const double* const above = gradients_[t].data();
    multiply_add(rank, columns, width, products_[t - 1].data(), 1, rank, above, sums[t].data());
    for (std::int64_t m = 0; m < columns; ++m)
      for (std::int64_t a = 0; a < rank; ++a)
        gradients_[t - 1][m * rank + a] = dot(above + m * width, slices_[t].data() + a * width, width);
  }
  for (std::size_t i = 0; i < gradients_[0].size(); ++i) sums[0][i] += gradients_[0][i];
}

std::vector<double> full_table(const TensorTrainShape& shape, const std::vector<std::vector<double>>& cores) {
  RowContraction contraction(shape);
  std::vector<double> table;
  for (std::int64_t row = 0; row < shape.rows(); ++row) {
    const auto digits = shape.digits(row);
    Slices slices;
    for (int t = 0; t < shape.cores; ++t)
      slices[t] = std::span(cores[t]).subspan(digits[t] * shape.slice_elements(t), shape.slice_elements(t));
    const auto values = contraction.row(slices);
    table.insert(table.end(), values.begin(), values.end());
  }
  return table;
}

}  // namespace shardmark::reference
