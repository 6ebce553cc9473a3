// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"
#include "kernels/bag_divisor.hpp"
#include "kernels/balanced_ranges.hpp"
#include "kernels/row_sum.hpp"
#include "kernels/work.hpp"
#include "reference/pooling.hpp"

namespace shardmark::kernels {

/// A run of consecutive bags that read one shard and write vectors at a constant distance.
/// Partial bags of a shard take Pooling::sum (their divisor is applied at home, see divide_by_bag); mean and sqrtn
/// divide by the bag as it stands here. Pooling::none writes one vector per id, the first bag's first id at `output`.
template <class Value>
struct LookupBlock {
  std::int64_t first_bag = 0;
  std::int64_t bags = 0;
  const Value* rows = nullptr;  ///< [rows of the shard, dim]
  std::int64_t dim = 0;
  std::int64_t output = 0;         ///< element of the first bag's vector
  std::int64_t output_stride = 0;  ///< elements from one vector to the next, at least dim
  Pooling pooling = Pooling::sum;
};

/// Ids per unit of scheduling, and how many rows ahead of the sum their cache lines are asked for.
inline constexpr std::int64_t lookup_grain = 512;
inline constexpr std::int64_t lookup_prefetch = 16;

template <class Exec, class Value, class Index, bool Weighted>
struct PooledLookup {
  ConstArray<Exec, LookupBlock<Value>> blocks;
  ConstArray<Exec, std::int64_t> offsets;
  ConstArray<Exec, Index> indices;
  ConstArray<Exec, float> weights;
  Array<Exec, Value> output;
  BalancedRanges ranges;

  KOKKOS_FUNCTION void operator()(std::int64_t range) const {
    std::int64_t bag = ranges.begin(range, offsets);
    const std::int64_t end = ranges.begin(range + 1, offsets);
    if (bag == end) return;
    const auto count = static_cast<std::int64_t>(blocks.extent(0));
    std::int64_t b = last_at_most(count, bag, [&](std::int64_t i) { return blocks(i).first_bag; });
    for (; bag < end && b < count; ++b) {
      const auto& block = blocks(b);
      const std::int64_t stop = Kokkos::min(end, block.first_bag + block.bags);
      if (bag < stop) with_width(block.dim, [&](auto dim) { run(block, dim, bag, stop); });
      bag = Kokkos::max(bag, stop);
    }
  }

 private:
  /// Bags [first, stop) of one block.
  template <class Dim>
  KOKKOS_FORCEINLINE_FUNCTION void run(const LookupBlock<Value>& block, Dim dim, std::int64_t first,
                                       std::int64_t stop) const {
    const std::int64_t begin = offsets(first);
    const std::int64_t last = offsets(stop) - 1;
    for (std::int64_t i = begin; i < Kokkos::min(begin + lookup_prefetch, last + 1); ++i) ask_for(block, dim, i);
    if (block.pooling == Pooling::none) {
      const std::int64_t block_begin = offsets(block.first_bag);
      for (std::int64_t i = begin; i <= last; ++i)
        pool(block, dim, i, i + 1, last, &output(block.output + (i - block_begin) * block.output_stride));
    } else {
      for (std::int64_t bag = first; bag < stop; ++bag)
        pool(block, dim, offsets(bag), offsets(bag + 1), last,
             &output(block.output + (bag - block.first_bag) * block.output_stride));
    }
  }

  template <class Dim>
  KOKKOS_FORCEINLINE_FUNCTION void ask_for(const LookupBlock<Value>& block, Dim dim, std::int64_t i) const {
    prefetch(block.rows + indices(i) * std::int64_t{dim}, dim * static_cast<std::int64_t>(sizeof(Value)));
  }

  template <class Dim>
  KOKKOS_FORCEINLINE_FUNCTION void pool(const LookupBlock<Value>& block, Dim dim, std::int64_t begin, std::int64_t end,
                                        std::int64_t last, Value* vector) const {
    for_column_tiles(dim, [&](std::int64_t column, auto width) {
      Value sum[decltype(width)::capacity];
      const auto row_at = [&](std::int64_t i) {
        if (column == 0) ask_for(block, dim, Kokkos::min(i + lookup_prefetch, last));
        return block.rows + indices(i) * std::int64_t{dim} + column;
      };
      sum_rows(sum, width, begin, end, row_at, [&](std::int64_t i) { return Weighted ? weights(i) : 1.0F; });
      if (block.pooling == Pooling::mean || block.pooling == Pooling::sqrtn)
        divide(sum, width, bag_divisor(block.pooling, Weighted ? weights.data() : nullptr, begin, end));
      for (std::int64_t d = 0; d < width; ++d) vector[column + d] = sum[d];
    });
  }
};

/// Pooled lookup of all bags of a rank in one launch: bag b is indices[offsets[b] .. offsets[b + 1]), local rows of the
/// shard of its block; its rows, times their weights, are summed in bag order in the precision of Value. An empty bag
/// gives 0. Deterministic: a bag is summed by one thread.
///   blocks:  LookupBlock<Value>, in ascending order, together covering every bag once
///   offsets: [bags + 1] from 0;  indices: [nnz] int32 or int64;  weights: [nnz], or empty when every weight is 1
///   output:  float or double, apart from the rows
template <class Exec, class Blocks, class Indices, class Output>
void pooled_lookup(const Exec& exec, const Blocks& blocks, ConstArray<Exec, std::int64_t> offsets,
                   const Indices& indices, ConstArray<Exec, float> weights, const Output& output) {
  using Value = typename Output::non_const_value_type;
  using Index = typename Indices::non_const_value_type;
  const std::int64_t bags = static_cast<std::int64_t>(offsets.extent(0)) - 1;
  if (bags <= 0 || blocks.extent(0) == 0) return;
  const BalancedRanges ranges{bags, static_cast<std::int64_t>(indices.extent(0)), lookup_grain};
  const auto policy = dynamic_range(exec, ranges.count());
  if (weights.extent(0) == 0)
    Kokkos::parallel_for("shardmark::pooled_lookup", policy,
                         PooledLookup<Exec, Value, Index, false>{blocks, offsets, indices, weights, output, ranges});
  else
    Kokkos::parallel_for("shardmark::pooled_lookup", policy,
                         PooledLookup<Exec, Value, Index, true>{blocks, offsets, indices, weights, output, ranges});
}

/// What a batch asks of the lookup (and of the update that follows it).
struct LookupCounts {
  std::int64_t bags = 0;
  std::int64_t ids = 0;
  std::int64_t id_elements = 0;      ///< sum over ids of the dim of their row
  std::int64_t unique_elements = 0;  ///< sum over distinct rows of their dim, see unique_elements()
  std::int64_t output_elements = 0;
};

constexpr Work pooled_lookup_work(const LookupCounts& counts, bool weighted, std::int64_t index_bytes,
                                  std::int64_t value_bytes) {
  return {.bytes_read = counts.unique_elements * value_bytes + counts.ids * (index_bytes + (weighted ? 4 : 0)) +
                        (counts.bags + 1) * 8,
          .bytes_written = counts.output_elements * value_bytes,
          .flops = counts.id_elements * (weighted ? 2 : 1)};
}

}  // namespace shardmark::kernels
