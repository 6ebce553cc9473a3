// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"
#include "kernels/work.hpp"

namespace shardmark::kernels {

/// Which part of which table a shard is: local row i is row begin + i * stride, local column c column column_begin + c.
struct ShardRows {
  std::int64_t table = 0;
  std::int64_t begin = 0;
  std::int64_t stride = 1;
  std::int64_t count = 0;  ///< rows held
  std::int64_t column_begin = 0;
  std::int64_t dim = 0;  ///< columns held
};

/// Initial value of a cell of the shard. Values: a function (table, row, column), for instance RowValues.
template <class Value, class Values>
KOKKOS_INLINE_FUNCTION Value initial_value(const Values& values, const ShardRows& shard, std::int64_t i,
                                           std::int64_t c) {
  return static_cast<Value>(values(shard.table, shard.begin + i * shard.stride, shard.column_begin + c));
}

/// Gives every cell of the shard its initial value. The rows are dealt to threads in order, so that on first touch the
/// memory of a shard spreads over the NUMA nodes of the threads. rows: [count * dim].
template <class Exec, class Values, class Value>
void fill_rows(const Exec& exec, const Values& values, const ShardRows& shard, Value* rows) {
  Kokkos::parallel_for(
      "shardmark::fill_rows", static_range(exec, shard.count), KOKKOS_LAMBDA(const std::int64_t i) {
        for (std::int64_t c = 0; c < shard.dim; ++c)
          rows[i * shard.dim + c] = initial_value<Value>(values, shard, i, c);
      });
}

/// Rows in which at least one bit differs from the initial values: an update must change the touched ones and no
/// others.
template <class Exec, class Values, class Value>
std::int64_t count_changed_rows(const Exec& exec, const Values& values, const ShardRows& shard, const Value* rows) {
  using Bits = std::conditional_t<sizeof(Value) == 8, std::uint64_t, std::uint32_t>;
  std::int64_t changed = 0;
  Kokkos::parallel_reduce(
      "shardmark::count_changed_rows", static_range(exec, shard.count),
      KOKKOS_LAMBDA(const std::int64_t i, std::int64_t& count) {
        bool same = true;
        for (std::int64_t c = 0; c < shard.dim; ++c)
          same &= Kokkos::bit_cast<Bits>(rows[i * shard.dim + c]) ==
                  Kokkos::bit_cast<Bits>(initial_value<Value>(values, shard, i, c));
        count += !same;
      },
      changed);
  return changed;
}

constexpr Work fill_rows_work(const ShardRows& shard, std::int64_t value_bytes) {
  return {.bytes_read = 0, .bytes_written = shard.count * shard.dim * value_bytes, .flops = 0};
}

constexpr Work count_changed_rows_work(const ShardRows& shard, std::int64_t value_bytes) {
  return {.bytes_read = shard.count * shard.dim * value_bytes, .bytes_written = 0, .flops = 0};
}

}  // namespace shardmark::kernels
