// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/computed_rows.hpp"
#include "reference/tensor_train/contraction.hpp"

namespace shardmark::reference {

/// Is a table of Storage::tt whose cores are tables of which only the touched slices exist (core_tables()), with bounds
/// for whatever comes out of them: contractions in fp32, in any order and direction, with or without fused
/// multiply-adds.
///
/// A row P(G) is a polynomial of the entries G of its slices, without negative coefficients. Let b be the bounds of the
/// entries. A row may differ by P(|G| + b) - P(|G|), and by n u P(|G| + b) for at most n roundings between any one
/// entry and the result: a product and the additions of each sum over a rank, r_1 + .. + r_(cores-1), and a rounding of
/// ours. In the same way the gradient of a slice is a polynomial T(G, g) of entries and of gradients g of rows; g may
/// differ by e, and M is the magnitude of its terms, which may meet only in the gradient of the slice. It may differ by
/// T(|G| + b, M + e) - T(|G|, M) + n u T(|G| + b, M + e): n counts the sums of a contraction, and as many additions as
/// rows that the batch names have the slice, each as often as it is named; in any order, atomically, or put together
/// from the parts of several ranks. A rounding to a subnormal number is off by a fixed distance instead of u, times the
/// entries by which it is multiplied afterwards.
class BoundedTt {
 public:
  BoundedTt(const TensorTrainShape& shape, std::vector<TouchedTable> cores);

  const TensorTrainShape& shape() const { return shape_; }
  std::span<const TouchedTable> cores() const { return cores_; }

  /// Writes the values of a row and their bounds, [dim]; touches its slices.
  void row(std::int64_t row, std::span<float> values, std::span<float> bounds);

  /// Adds what a row that the batch names `uses` times gives to the gradients of its slices. It is fast when rows
  /// ascend.
  void add_gradient(std::int64_t row, std::int64_t uses, const BoundedGradient& gradient);

  /// Takes step number `step` (from 1) of the optimizer on every slice of a row that was added since the step before.
  void step(std::int64_t step);

 private:
  /// Holds entries of slices in double, or sums of the same size: the value, and for bounds two magnitudes, by slot of
  /// a core. These are |G| and |G| + b for entries, T(|G|, M) and T(|G| + b, M + e) for gradients.
  struct Numbers {
    std::array<std::vector<double>, 3> of;
    std::span<double> slice(int kind, std::int64_t slot, std::int64_t size) { return row_of(of[kind], slot, size); }
  };
  struct Core {
    Numbers entries, gradients;
    double largest = 0.0;               ///< of |G| + b, so far
    std::vector<std::int64_t> uses;     ///< by slot, since the latest step
    std::vector<std::int64_t> touched;  ///< slots that were named since
  };

  /// Contracts a row three times, from the entries of each kind.
  std::array<std::span<const double>, 3> contract(std::int64_t row);
  std::int64_t touch(int t, std::int64_t slice);
  void refresh(int t, std::int64_t slot);
  double roundings_of_gradient(int t) const;
  double largest_factor() const;

  TensorTrainShape shape_;
  std::vector<TouchedTable> cores_;
  std::vector<Core> core_;
  std::array<RowContraction, 3> contractions_;
  std::array<std::int64_t, TensorTrainShape::most_cores> slots_{};  ///< of the row contracted last
  std::int64_t latest_ = -1;                                        ///< that row
};

}  // namespace shardmark::reference
