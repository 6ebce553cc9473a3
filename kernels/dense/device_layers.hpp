// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernels/dense/matrix_view.hpp"
#include "kernels/device_chunks.hpp"

namespace shardmark::kernels::device {

// These are what layers do beside their products, on a device. Matrices are [samples, columns]; neighbouring threads
// take neighbouring columns.

/// Calls kernel(i) for the elements of a matrix: element i stands in row i / columns.
template <class Kernel>
void for_elements(const std::string& label, std::int64_t rows, std::int64_t columns, const Kernel& kernel) {
  Kokkos::parallel_for(label, static_range(DenseExecution(), rows * columns), kernel);
}

struct AddBias {
  Floats y;
  const float* bias;
  bool relu;

  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    const std::int64_t column = i % y.columns;
    float& value = y.row(i / y.columns)[column];
    const float sum = value + bias[column];
    value = relu ? Kokkos::max(sum, 0.0F) : sum;
  }
};

struct CopyMatrix {
  ConstFloats from;
  Floats to;

  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    to.row(i / to.columns)[i % to.columns] = from.row(i / to.columns)[i % to.columns];
  }
};

struct AddMatrix {
  ConstFloats more;
  Floats to;

  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    to.row(i / to.columns)[i % to.columns] += more.row(i / to.columns)[i % to.columns];
  }
};

/// Computes t += b, next = x_0 * t + x.
struct CrossRows {
  ConstFloats x0, x;
  const float* bias;
  Floats t, next;

  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    const std::int64_t row = i / x.columns, column = i % x.columns;
    const float of_t = t.row(row)[column] + bias[column];
    t.row(row)[column] = of_t;
    next.row(row)[column] = x0.row(row)[column] * of_t + x.row(row)[column];
  }
};

/// So many rows are summed one after the other by one thread, then as many sums, and so on: an order that depends on
/// nothing but the number of rows.
inline constexpr std::int64_t rows_per_sum = 64;

/// Sums what Element makes of the elements of columns: sums [rows / rows_per_sum rounded up, columns]. An Element
/// loads what it needs of an element (load), then writes what is to be written and returns what is summed (take), so
/// that several are under way.
template <class Element>
struct ColumnSums {
  Element element;
  std::int64_t rows;
  Floats sums;

  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    constexpr int at_once = 8;
    const std::int64_t number = i / sums.columns, column = i % sums.columns;
    const std::int64_t begin = number * rows_per_sum, end = Kokkos::min(begin + rows_per_sum, rows);
    float sum = 0.0F;
    for (std::int64_t row = begin; row < end; row += at_once) {
      typename Element::Loaded loaded[at_once] = {};
      SHARDMARK_UNROLL for (int k = 0; k < at_once; ++k) {
        if (row + k < end) loaded[k] = element.load(row + k, column);
      }
      SHARDMARK_UNROLL for (int k = 0; k < at_once; ++k) {
        if (row + k < end) sum += element.take(row + k, column, loaded[k]);
      }
    }
    sums.row(number)[column] = sum;
  }
};

struct AnyElement {
  using Loaded = float;
  ConstFloats matrix;

  KOKKOS_FORCEINLINE_FUNCTION float load(std::int64_t row, std::int64_t column) const {
    return matrix.row(row)[column];
  }
  KOKKOS_FORCEINLINE_FUNCTION float take(std::int64_t, std::int64_t, float value) const { return value; }
};

/// Sets dy to [y > 0] dy where there is a y.
struct MaskedGradient {
  ConstFloats y;
  Floats dy;

  struct Loaded {
    float output, gradient;
  };
  KOKKOS_FORCEINLINE_FUNCTION Loaded load(std::int64_t row, std::int64_t column) const {
    return {y.data != nullptr ? y.row(row)[column] : 1.0F, dy.row(row)[column]};
  }
  KOKKOS_FORCEINLINE_FUNCTION float take(std::int64_t row, std::int64_t column, const Loaded& loaded) const {
    const float masked = loaded.output > 0.0F ? loaded.gradient : 0.0F;
    if (y.data != nullptr) dy.row(row)[column] = masked;
    return masked;
  }
};

/// Computes of_x0 += g * t, dt = g * x_0.
struct CrossGradient {
  ConstFloats x0, t, gradient;
  Floats of_x0, dt;

  struct Loaded {
    float x0, t, gradient, of_x0;
  };
  KOKKOS_FORCEINLINE_FUNCTION Loaded load(std::int64_t row, std::int64_t column) const {
    return {x0.row(row)[column], t.row(row)[column], gradient.row(row)[column], of_x0.row(row)[column]};
  }
  KOKKOS_FORCEINLINE_FUNCTION float take(std::int64_t row, std::int64_t column, const Loaded& loaded) const {
    of_x0.row(row)[column] = loaded.of_x0 + loaded.gradient * loaded.t;
    return dt.row(row)[column] = loaded.gradient * loaded.x0;
  }
};

/// Sets to[c] to the sum of what `element` makes of column c of [rows, columns]; 0 without rows.
template <class Element>
void sum_columns(const std::string& label, const Element& element, std::int64_t rows, std::int64_t columns,
                 Scratch<DenseExecution, float>& scratch, float* to) {
  const auto sums_of = [](std::int64_t n) {
    return Kokkos::max((n + rows_per_sum - 1) / rows_per_sum, std::int64_t{1});
  };
  std::int64_t kept = 0;
  for (std::int64_t n = sums_of(rows); n > 1; n = sums_of(n)) kept += n;
  float* next = scratch.first(kept * columns).data();
  const auto place = [&](std::int64_t n) {
    const Floats sums(n == 1 ? to : next, n, columns);
    next += n * columns;
    return sums;
  };
  Floats sums = place(sums_of(rows));
  for_elements(label, sums.rows, columns, ColumnSums<Element>{element, rows, sums});
  while (sums.rows > 1) {
    const Floats fewer = place(sums_of(sums.rows));
    for_elements(label, fewer.rows, columns, ColumnSums<AnyElement>{{sums}, sums.rows, fewer});
    sums = fewer;
  }
}

}  // namespace shardmark::kernels::device
