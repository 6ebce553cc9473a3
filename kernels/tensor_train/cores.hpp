// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/update/row_gradients.hpp"
#include "reference/tensor_train/shape.hpp"
#include "reference/value_type.hpp"

namespace shardmark::kernels {

/// Describes the product of core t with the product of the cores before it:
///   X_t [before, q r_out] = X_(t-1) [before, r_in] G_t[i_t] [r_in, q r_out],  before = q_0 .. q_(t-1),
/// which is X_t as [before q, r_out]. For t = 0, `before` and r_in are 1 and the product is the slice.
struct CoreStep {
  std::int64_t before, r_in, q, r_out;

  constexpr std::int64_t left() const { return before * r_in; }
  constexpr std::int64_t slice() const { return r_in * q * r_out; }
  constexpr std::int64_t padded_slice() const { return (slice() + 15) / 16 * 16; }  ///< so that lanes are aligned
  constexpr std::int64_t columns() const { return q * r_out; }
  constexpr std::int64_t product() const { return before * q * r_out; }
  /// Returns the number of nodes that are worked on together: about 32 rows of the left factor, while the slice stays
  /// in the nearest cache.
  constexpr std::int64_t tile() const { return before < 32 ? 32 / before : 1; }
};

/// Holds the cores of one table, in the order in which they are contracted. A table whose rows share products of their
/// last cores is given as its mirror image: cores in reverse order, each slice transposed to [r_(t+1)][q_t][r_t], rows
/// named by their digits in reverse order.
struct TensorTrainCores {
  TensorTrainShape shape;                                                ///< of the cores as they are contracted
  std::array<const void*, TensorTrainShape::most_cores> cores{};         ///< [p_t][r_t][q_t][r_(t+1)] of value_type
  ValueType value_type = ValueType::fp32;                                ///< fp32, fp16 or bf16
  std::int64_t first_key = 0;                                            ///< key of row 0 among the keys of rows
  std::array<std::int64_t, TensorTrainShape::most_cores> first_slice{};  ///< key of slice 0 among those of all cores
  bool mirrored = false;  ///< columns of vectors outside are in the table's order; their digits are reversed here
  std::int64_t dim = 0;

  constexpr CoreStep step(int t) const {
    std::int64_t before = 1;
    for (int s = 0; s < t; ++s) before *= shape.q[s];
    return {before, shape.r[t], shape.q[t], shape.r[t + 1]};
  }
  /// Returns the number of rows that share their digits 0 .. t: p_(t+1) .. p_(cores-1).
  constexpr std::int64_t rows_below(int t) const {
    std::int64_t rows = 1;
    for (int s = t + 1; s < shape.cores; ++s) rows *= shape.p[s];
    return rows;
  }
};

/// Holds the tt tables of a rank, and what the host must know of them. Levels count cores from the end: level 0 is the
/// last core of every table.
template <class Exec>
struct TensorTrains {
  static constexpr int most_levels = TensorTrainShape::most_cores;

  /// Holds the largest numbers of elements over the tables that have a core at a level.
  struct Largest {
    std::int64_t left = 0, product = 0, slice = 0;  ///< of one node, see CoreStep
    std::int64_t tile_left = 0, tile_product = 0;   ///< of a tile of nodes
  };

  ShardList<Exec, TensorTrainCores> tables;
  ConstArray<Exec, std::int32_t> columns;  ///< [tables, largest dim] column outside of column c here
  std::int64_t slices = 0;                 ///< keys of slices are below
  std::int64_t elements = 0;               ///< padded_slice of all slices
  int levels = 0;                          ///< cores of the longest tt table
  std::array<Largest, most_levels> largest{};
  bool converts = false;  ///< some cores are not fp32

  KOKKOS_INLINE_FUNCTION const std::int32_t* columns_of(std::int64_t table) const {
    return columns.data() + table * tables.largest_dim;
  }
};

/// Lists `cores`, which come by ascending first_key.
template <class Exec>
TensorTrains<Exec> tensor_trains(const Exec& exec, const std::vector<TensorTrainCores>& cores);

}  // namespace shardmark::kernels
