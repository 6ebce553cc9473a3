// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/array.hpp"

namespace shardmark::kernels {

/// Is where dense models run: where steps do.
using DenseExecution = DefaultSpace;
/// Are the threads of the host, by which a dense model that runs there is computed, and the reference on every build.
using HostThreads = Kokkos::DefaultHostExecutionSpace;

/// Views a row-major matrix in the memory of DenseExecution, its rows `stride` numbers apart, or some columns of one.
/// T: float or const float.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0, columns = 0, stride = 0;

  MatrixView() = default;
  MatrixView(T* data_, std::int64_t rows_, std::int64_t columns_) : MatrixView(data_, rows_, columns_, columns_) {}
  MatrixView(T* data_, std::int64_t rows_, std::int64_t columns_, std::int64_t stride_)
      : data(data_), rows(rows_), columns(columns_), stride(stride_) {}
  operator MatrixView<const T>() const { return {data, rows, columns, stride}; }  // NOLINT: as pointers convert

  KOKKOS_FUNCTION T* row(std::int64_t number) const { return data + number * stride; }
  MatrixView row_range(std::int64_t begin, std::int64_t end) const {
    return {row(begin), end - begin, columns, stride};
  }
  MatrixView column_range(std::int64_t begin, std::int64_t end) const {
    return {data + begin, rows, end - begin, stride};
  }
  friend bool operator==(const MatrixView&, const MatrixView&) = default;
};

using Floats = MatrixView<float>;
using ConstFloats = MatrixView<const float>;

/// Calls body(begin, end, piece) for even parts of [0, count), one for each thread of the host; parts are multiples of
/// `unit` but the last. Returns when all are done.
template <class Body>
void for_each_part(std::int64_t count, std::int64_t unit, const Body& body) {
  const HostThreads exec;
  const std::int64_t units = (count + unit - 1) / unit;
  const auto parts = std::min<std::int64_t>(exec.concurrency(), units);
  Kokkos::parallel_for("shardmark::dense",
                       Kokkos::RangePolicy<HostThreads, Kokkos::IndexType<std::int64_t>>(exec, 0, parts),
                       [&](const std::int64_t part) {
                         body(part * units / parts * unit, std::min((part + 1) * units / parts * unit, count), part);
                       });
  exec.fence("shardmark: a part of a dense model is complete");
}

/// Calls body(sample) for each sample, by all threads of the host.
template <class Body>
void for_each_sample(std::int64_t samples, const Body& body) {
  for_each_part(samples, 1, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
    for (std::int64_t s = begin; s < end; ++s) body(s);
  });
}

/// Calls body(begin, end) for the parts of for_each_part, or on a device once for all samples: the kernels that it
/// launches have threads of their own.
template <class Body>
void in_parts(std::int64_t samples, std::int64_t unit, const Body& body) {
  if constexpr (on_device<DenseExecution>)
    body(std::int64_t{0}, samples);
  else
    for_each_part(samples, unit, [&](std::int64_t begin, std::int64_t end, std::int64_t) { body(begin, end); });
}

}  // namespace shardmark::kernels
