// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device_tiles.hpp"
#include "kernels/lookup/bag_divisor.hpp"
#include "kernels/lookup/pooled_lookup.hpp"
#include "kernels/lookup/stored_rows.hpp"
#include "kernels/sort/balanced_ranges.hpp"

namespace shardmark::kernels::device {

/// Reads Size columns of a row from `c` on, in fp32.
template <int Size, class T>
KOKKOS_FORCEINLINE_FUNCTION Chunk<float, Size> read(const StoredRow<T>& row, std::int64_t c) {
  const auto stored = load_chunk<Size>(row.values + c);
  Chunk<float, Size> values;
  for (int i = 0; i < Size; ++i) values.at[i] = to_float(stored.at[i]);
  return values;
}
template <int Size>
KOKKOS_FORCEINLINE_FUNCTION Chunk<float, Size> read(const QuantizedRow& row, std::int64_t c) {
  const auto stored = load_chunk<Size>(row.values + c);
  Chunk<float, Size> values;
  for (int i = 0; i < Size; ++i) values.at[i] = row.scale * static_cast<float>(stored.at[i]) + row.offset;
  return values;
}

/// Pools one vector: the rows of the ids at the positions [begin, end).
template <class Index>
struct PooledVector {
  const LookupBlock& block;
  const Index* ids;
  const float* weights;  ///< null when every weight is 1
  std::int64_t begin, end;
  float* output;

  /// Pools by the threads of a tile, each Chunks chunks of Size columns at a time; adds rows in the order of the host's
  /// kernel.
  template <class Row, int Size, int Chunks, class Team>
  KOKKOS_FORCEINLINE_FUNCTION void pool(const Team& team, int width) const {
    const std::int64_t dim = block.dim;
    for (std::int64_t first = 0; first < dim; first += width * Chunks * Size)
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, width), [&](const int thread) {
        Chunk<float, Size> pooled[Chunks] = {};
        const auto column = [&](int k) { return first + (k * width + thread) * Size; };
        for (std::int64_t i = begin; i < end; ++i) {
          const Row row(static_cast<const char*>(block.rows) + static_cast<std::int64_t>(ids[i]) * Row::bytes(dim));
          const float weight = weights == nullptr ? 1.0F : weights[i];
          for (int k = 0; k < Chunks; ++k)
            if (column(k) < dim) join(pooled[k], read<Size>(row, column(k)), weight, i == begin);
        }
        const double divisor = bag_divisor(block.pooling, weights, begin, end);
        for (int k = 0; k < Chunks; ++k)
          if (column(k) < dim) {
            if (divisor != 1) divide(pooled[k].at, Size, divisor);
            store_chunk<Size>(output + column(k), pooled[k]);
          }
      });
  }

 private:
  template <int Size>
  KOKKOS_FORCEINLINE_FUNCTION void join(Chunk<float, Size>& pooled, const Chunk<float, Size>& values, float weight,
                                        bool first) const {
    const bool max = block.pooling == Pooling::max;
    for (int i = 0; i < Size; ++i) {
      const float product = weight * values.at[i];
      if (max)
        pooled.at[i] = first || pooled.at[i] < product ? product : pooled.at[i];
      else
        pooled.at[i] += product;
    }
  }
};

/// Pools bags by a tile of 8 threads each: with chunks of four columns, 128 bytes of fp32 a load, and up to four loads
/// per row. Rows or outputs whose chunks would not be aligned are read by single columns.
template <class Exec, class Index>
struct PooledLookup {
  static constexpr int width = 8;

  ConstArray<Exec, LookupBlock> blocks;
  ConstArray<Exec, std::int64_t> offsets;
  ConstArray<Exec, Index> indices;
  ConstArray<Exec, float> weights;
  Array<Exec, float> output;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const std::int64_t bag = tile_number(team);
    if (bag + 1 >= static_cast<std::int64_t>(offsets.extent(0))) return;
    const auto count = static_cast<std::int64_t>(blocks.extent(0));
    const LookupBlock& block = blocks(last_at_most(count, bag, [&](std::int64_t b) { return blocks(b).first_bag; }));
    if (bag >= block.first_bag + block.bags) return;
    with_row_type(block.value_type, [&](auto row) { pool_bag<typename decltype(row)::type>(team, block, bag); });
  }

 private:
  template <class Row, class Team>
  KOKKOS_FORCEINLINE_FUNCTION void pool_bag(const Team& team, const LookupBlock& block, std::int64_t bag) const {
    const std::int64_t begin = offsets(bag), end = offsets(bag + 1);
    float* first = output.data() + block.output;
    if (block.pooling == Pooling::none) {
      const std::int64_t before = begin - offsets(block.first_bag);
      for (std::int64_t i = begin; i < end; ++i)
        pool<Row>(team, block, i, i + 1, first + (before + i - begin) * block.output_stride);
    } else {
      pool<Row>(team, block, begin, end, first + (bag - block.first_bag) * block.output_stride);
    }
  }

  template <class Row, class Team>
  KOKKOS_FORCEINLINE_FUNCTION void pool(const Team& team, const LookupBlock& block, std::int64_t begin,
                                        std::int64_t end, float* to) const {
    const PooledVector<Index> vector{
        block, indices.data(), weights.extent(0) == 0 ? nullptr : weights.data(), begin, end, to};
    constexpr std::int64_t value_bytes = sizeof(*Row::values);
    if (!aligned(block.rows, 4 * value_bytes) || !aligned(to, 4 * sizeof(float)) || block.dim % 4 != 0)
      vector.template pool<Row, 1, 4>(team, width);
    else if (block.dim <= 4 * width)
      vector.template pool<Row, 4, 1>(team, width);
    else if (block.dim <= 8 * width)
      vector.template pool<Row, 4, 2>(team, width);
    else
      vector.template pool<Row, 4, 4>(team, width);
  }
};

}  // namespace shardmark::kernels::device
