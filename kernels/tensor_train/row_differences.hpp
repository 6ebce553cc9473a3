// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"

namespace shardmark::kernels {

/// What rows learned while they were cached, as a difference from the row of the cores: of rows that are not cached any
/// more. A row has at most one, and most have none.
template <class Exec>
class RowDifferences {
 public:
  explicit RowDifferences(std::int64_t dim) : dim_(dim) {}

  std::int64_t count() const { return static_cast<std::int64_t>(rows_.extent(0)); }
  std::int64_t dim() const { return dim_; }
  std::int64_t bytes() const;
  ConstArray<Exec, std::int64_t> rows() const { return rows_; }      ///< [count], ascending
  ConstArray<Exec, std::int64_t> places() const { return places_; }  ///< [count] of their vectors
  ConstArray<Exec, float> vectors() const { return vectors_; }       ///< [places, dim], some of them unused

  /// places[i] = place of the difference of rows[i], or -1. rows: [n], in any order.
  void find(const Exec& exec, ConstArray<Exec, std::int64_t> rows, Array<Exec, std::int64_t> places) const;

  /// vectors(i * stride .. + dim) += the difference of rows[i], where it has one. rows: [n], in any order.
  void add_to(const Exec& exec, ConstArray<Exec, std::int64_t> rows, Array<Exec, float> vectors,
              std::int64_t stride) const;

  /// After a populate: `entering` rows have no difference any more, `leaving` ones have these from now on.
  /// leaving, entering: ascending, no row in both; vectors(i * stride .. + dim): that of leaving[i]. Waits for the
  /// device.
  void merge(const Exec& exec, ConstArray<Exec, std::int64_t> leaving, ConstArray<Exec, float> vectors,
             std::int64_t stride, ConstArray<Exec, std::int64_t> entering);

 private:
  std::int64_t dim_;
  Array<Exec, std::int64_t> rows_, places_;
  Array<Exec, float> vectors_;
  Scratch<Exec, std::int64_t> other_rows_{"shardmark::difference_rows"}, other_places_{"shardmark::difference_places"};
};

}  // namespace shardmark::kernels
