// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>

namespace shardmark::kernels {

/// Dense models are computed by threads of the host, on every build.
using DenseExecution = Kokkos::DefaultHostExecutionSpace;

/// Views a row-major matrix, its rows `stride` numbers apart, or some columns of one. T: float or const float.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0, columns = 0, stride = 0;

  MatrixView() = default;
  MatrixView(T* data_, std::int64_t rows_, std::int64_t columns_) : MatrixView(data_, rows_, columns_, columns_) {}
  MatrixView(T* data_, std::int64_t rows_, std::int64_t columns_, std::int64_t stride_)
      : data(data_), rows(rows_), columns(columns_), stride(stride_) {}
  operator MatrixView<const T>() const { return {data, rows, columns, stride}; }  // NOLINT: as pointers convert

  T* row(std::int64_t number) const { return data + number * stride; }
  MatrixView row_range(std::int64_t begin, std::int64_t end) const {
    return {row(begin), end - begin, columns, stride};
  }
  MatrixView column_range(std::int64_t begin, std::int64_t end) const {
    return {data + begin, rows, end - begin, stride};
  }
};

using Floats = MatrixView<float>;
using ConstFloats = MatrixView<const float>;

/// Calls body(begin, end, piece) for even parts of [0, count), one for each thread; parts are multiples of `unit` but
/// the last. Returns when all are done.
template <class Body>
void for_each_part(std::int64_t count, std::int64_t unit, const Body& body) {
  const DenseExecution exec;
  const std::int64_t units = (count + unit - 1) / unit;
  const auto parts = std::min<std::int64_t>(exec.concurrency(), units);
  Kokkos::parallel_for("shardmark::dense",
                       Kokkos::RangePolicy<DenseExecution, Kokkos::IndexType<std::int64_t>>(exec, 0, parts),
                       [&](const std::int64_t part) {
                         body(part * units / parts * unit, std::min((part + 1) * units / parts * unit, count), part);
                       });
  exec.fence("shardmark: a part of a dense model is complete");
}

/// Calls body(sample) for each sample, by all threads.
template <class Body>
void for_each_sample(std::int64_t samples, const Body& body) {
  for_each_part(samples, 1, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
    for (std::int64_t s = begin; s < end; ++s) body(s);
  });
}

}  // namespace shardmark::kernels
