// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <numeric>
#include <vector>

#include "kernels/dense/matrix_view.hpp"

namespace shardmark::kernels {

/// Is a matrix whose columns are columns first .. first + columns of all matrices of a list side by side.
template <class T>
struct ListedMatrix {
  MatrixView<T> matrix;
  std::int64_t first = 0;
};

/// Lists the vectors of samples, [samples, width] of each feature. Kernels have a copy of the list, which is made anew
/// only when that changes.
template <class T>
class MatrixList {
 public:
  void set(std::vector<MatrixView<T>> matrices) {
    if (matrices == host_) return;
    host_ = std::move(matrices);
    std::vector<ListedMatrix<T>> listed;
    std::int64_t first = 0;
    for (const auto& each : host_) {
      listed.push_back({each, first});
      first += each.columns;
    }
    in_kernels_ = scratch_.holding(DenseExecution(), listed);
  }

  const std::vector<MatrixView<T>>& host() const { return host_; }
  const ConstArray<DenseExecution, ListedMatrix<T>>& in_kernels() const { return in_kernels_; }
  /// Returns the sum of the widths.
  std::int64_t columns() const {
    return std::accumulate(host_.begin(), host_.end(), std::int64_t{0},
                           [](std::int64_t sum, const auto& v) { return sum + v.columns; });
  }

 private:
  std::vector<MatrixView<T>> host_;
  ConstArray<DenseExecution, ListedMatrix<T>> in_kernels_;
  Scratch<DenseExecution, ListedMatrix<T>> scratch_{"shardmark::listed_matrices"};
};

}  // namespace shardmark::kernels
