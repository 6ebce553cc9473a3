// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"

namespace shardmark::kernels {

/// Holds what rows learned while they were cached, as differences from the rows of the cores, for rows that are not
/// cached any more.
template <class Exec>
class RowDifferences {
 public:
  explicit RowDifferences(std::int64_t dim) : dim_(dim) {}

  std::int64_t count() const { return static_cast<std::int64_t>(rows_.extent(0)); }
  std::int64_t dim() const { return dim_; }
  std::int64_t bytes() const;                                    ///< of these rows, without what is allocated for more
  ConstArray<Exec, std::int64_t> rows() const { return rows_; }  ///< [count], ascending
  ConstArray<Exec, std::int64_t> places() const { return places_; }  ///< [count] which of the vectors is theirs
  ConstArray<Exec, float> vectors() const { return vectors_; }       ///< [.., dim], some of them unused

  /// Sets places[i] to the number of the vector that is the difference of rows[i], or to -1. rows: [n], in any order.
  void find(const Exec& exec, ConstArray<Exec, std::int64_t> rows, Array<Exec, std::int64_t> places) const;

  /// Adds the difference of rows[i], if it has one, to vectors(i * stride .. + dim). rows: [n], in any order.
  void add_to(const Exec& exec, ConstArray<Exec, std::int64_t> rows, Array<Exec, float> vectors,
              std::int64_t stride) const;

  /// Replaces differences after a populate: `entering` rows have none any more; that of leaving[i], which had none, is
  /// vectors(i * stride .. + dim) from now on. leaving, entering: ascending, without a row in common. Waits for the
  /// device.
  void merge(const Exec& exec, ConstArray<Exec, std::int64_t> leaving, ConstArray<Exec, float> vectors,
             std::int64_t stride, ConstArray<Exec, std::int64_t> entering);

 private:
  std::int64_t dim_;
  Array<Exec, std::int64_t> rows_, places_;
  Array<Exec, float> vectors_;
  Array<Exec, std::int64_t> free_places_;  ///< [free_count_, ..] vectors of rows that entered again
  std::int64_t free_count_ = 0;
  Scratch<Exec, std::int64_t> rows_buffer_{"shardmark::difference_rows"}, next_rows_{"shardmark::difference_rows"};
  Scratch<Exec, std::int64_t> places_buffer_{"shardmark::difference_places"};
  Scratch<Exec, std::int64_t> next_places_{"shardmark::difference_places"};
  Scratch<Exec, std::int64_t> kept_{"shardmark::differences_kept"};
};

}  // namespace shardmark::kernels
