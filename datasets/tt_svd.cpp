// SPDX-License-Identifier: Apache-2.0
#include "datasets/tt_svd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/error.hpp"

/// LAPACK's singular value decomposition by divide and conquer; matrices are column-major.
extern "C" void dgesdd_(const char* job, const int* m, const int* n, double* a, const int* lda, double* s, double* u,
                        const int* ldu, double* vt, const int* ldvt, double* work, const int* lwork, int* iwork,
                        int* info);

namespace shardmark::datasets {
namespace {

using Doubles = std::vector<double>;

/// Holds a decomposition, row-major: matrix [rows][columns] = left [rows][count] x diag(values [count]) x right
/// [count][columns], with count = min(rows, columns) and the values descending.
struct Decomposition {
  std::int64_t count;
  Doubles left, values, right;
};

/// Decomposes the matrix and overwrites it. Row-major, it is the transposed of what LAPACK sees, so left and right
/// change places.
Decomposition decompose(const Table& table, Doubles& matrix, std::int64_t rows, std::int64_t columns) {
  const std::int64_t count = std::min(rows, columns);
  Decomposition result{count, Doubles(static_cast<std::size_t>(rows * count)), Doubles(static_cast<std::size_t>(count)),
                       Doubles(static_cast<std::size_t>(count * columns))};
  const int m = static_cast<int>(columns), n = static_cast<int>(rows), k = static_cast<int>(count);
  std::vector<int> integers(static_cast<std::size_t>(8 * count));
  int info = 0, size = -1;
  Doubles work(1);
  const auto call = [&] {
    dgesdd_("S", &m, &n, matrix.data(), &m, result.values.data(), result.right.data(), &m, result.left.data(), &k,
            work.data(), &size, integers.data(), &info);
  };
  call();  // how much work space it wants
  size = static_cast<int>(std::min(work[0], 2147483647.0));
  work.resize(static_cast<std::size_t>(size));
  call();
  if (info != 0)
    throw InputError(fmt::format("table {}: no singular values of {} x {} numbers (dgesdd {}); are all of them finite?",
                                 table.name, rows, columns, info));
  return result;
}

/// Returns the padded table with the digits of row and column of each core side by side: [p0][q0][p1][q1]...
Doubles interleaved_digits(const TensorTrainShape& shape, std::int64_t rows, std::span<const float> values) {
  Doubles tensor(static_cast<std::size_t>(shape.rows() * shape.dim()));
  const auto place = [&shape](std::int64_t number, const auto& radix, bool of_rows) {
    std::int64_t offset = 0, stride = 1;
    for (int t = shape.cores - 1; t >= 0; --t) {
      if (of_rows) stride *= shape.q[t];
      offset += number % radix[t] * stride;
      number /= radix[t];
      stride *= of_rows ? shape.p[t] : shape.q[t] * shape.p[t];
    }
    return offset;
  };
  std::vector<std::int64_t> columns;
  for (std::int64_t column = 0; column < shape.dim(); ++column) columns.push_back(place(column, shape.q, false));
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t first = place(row, shape.p, true);
    for (std::int64_t column = 0; column < shape.dim(); ++column)
      tensor[first + columns[column]] = static_cast<double>(values[row * shape.dim() + column]);
  }
  return tensor;
}

/// Returns entry(a, i, j, b) of [r_t][p_t][q_t][r_(t + 1)] as a core, slice by slice.
template <class Entry>
std::vector<float> as_core(const TensorTrainShape& shape, int t, const Entry& entry) {
  std::vector<float> core;
  for (std::int64_t i = 0; i < shape.p[t]; ++i)
    for (std::int64_t a = 0; a < shape.r[t]; ++a)
      for (std::int64_t j = 0; j < shape.q[t]; ++j)
        for (std::int64_t b = 0; b < shape.r[t + 1]; ++b) core.push_back(static_cast<float>(entry(a, i, j, b)));
  return core;
}

double square(double x) { return x * x; }

}  // namespace

DecomposedTable tt_svd(const Table& table, std::span<const float> values) {
  DecomposedTable result{.shape = tensor_train_shape(table), .cores = {}};
  const TensorTrainShape& shape = result.shape;
  if (std::ssize(values) != table.rows * table.dim)
    throw InputError(
        fmt::format("table {}: {} values for {} rows of {} columns", table.name, values.size(), table.rows, table.dim));
  if (shape.rows() > std::numeric_limits<int>::max() / shape.dim())
    throw InputError(fmt::format("table {}: {} rows (with padding) of {} columns are more values than LAPACK can count",
                                 table.name, shape.rows(), shape.dim()));
  Doubles rest = interleaved_digits(shape, table.rows, values);
  double all = 0.0, discarded = 0.0;
  for (const double value : rest) all += square(value);
  for (int t = 0; t < shape.cores; ++t) {
    const std::int64_t q = shape.q[t], here = shape.p[t] * q, rank = shape.r[t + 1];
    if (t == shape.cores - 1) {
      result.cores.push_back(
          as_core(shape, t, [&](auto a, auto i, auto j, auto) { return rest[a * here + i * q + j]; }));
      break;
    }
    const std::int64_t rows = shape.r[t] * here, columns = std::ssize(rest) / rows;
    const Decomposition svd = decompose(table, rest, rows, columns);
    // A rank can be above min(rows, columns) where an earlier one was cut: what is missing is 0.
    const std::int64_t kept = std::min(rank, svd.count);
    result.cores.push_back(as_core(shape, t, [&](auto a, auto i, auto j, auto b) {
      return b < kept ? svd.left[(a * here + i * q + j) * svd.count + b] : 0.0;
    }));
    for (std::int64_t k = kept; k < svd.count; ++k) discarded += square(svd.values[k]);
    rest.assign(static_cast<std::size_t>(rank * columns), 0.0);
    for (std::int64_t k = 0; k < kept; ++k)
      for (std::int64_t c = 0; c < columns; ++c) rest[k * columns + c] = svd.values[k] * svd.right[k * columns + c];
  }
  result.relative_error = all > 0.0 ? std::sqrt(discarded / all) : 0.0;
  return result;
}

}  // namespace shardmark::datasets
