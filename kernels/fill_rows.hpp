// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"
#include "reference/optimizer.hpp"
#include "reference/row_values.hpp"
#include "reference/value_type.hpp"

namespace shardmark::kernels {

/// Says which part of which table a shard is: local row i is row begin + i * stride, local column c column column_begin
/// + c.
struct ShardRows {
  std::int64_t table = 0;
  std::int64_t begin = 0;
  std::int64_t stride = 1;
  std::int64_t count = 0;  ///< rows held
  std::int64_t column_begin = 0;
  std::int64_t dim = 0;       ///< columns held
  std::int64_t full_dim = 0;  ///< columns of the table: an int8 row has one scale, wherever its columns are
  ValueType value_type = ValueType::fp32;
};

/// Gives every row of the shard its initial values. The rows are dealt to threads in order, so that on first touch the
/// memory of a shard spreads over the NUMA nodes of the threads. rows: [count], row_bytes(value_type, dim) each.
template <class Exec>
void fill_rows(const Exec& exec, const RowValues& values, const ShardRows& shard, void* rows);

/// Names rows that lie anywhere: row numbers(i) of the table lies at slot places(i), for each i of `chosen`.
template <class Exec>
struct PlacedRows {
  ConstArray<Exec, std::int64_t> numbers, places;
  ConstArray<Exec, std::int64_t> chosen;

  std::int64_t count() const { return static_cast<std::int64_t>(chosen.extent(0)); }
};

/// Gives these rows their initial values. shard: its begin, stride and count are not read; rows: [places].
template <class Exec>
void fill_placed_rows(const Exec& exec, const RowValues& values, const ShardRows& shard, const PlacedRows<Exec>& placed,
                      void* rows);
/// Gives them their initial optimizer state. state: [places, state_per_row(optimizer, dim)].
template <class Exec>
void fill_placed_state(const Exec& exec, const Optimizer& optimizer, const PlacedRows<Exec>& placed, std::int64_t dim,
                       float* state);
/// Counts those in which at least one bit differs from the initial values.
template <class Exec>
std::int64_t count_changed_placed_rows(const Exec& exec, const RowValues& values, const ShardRows& shard,
                                       const PlacedRows<Exec>& placed, const void* rows);

/// Gives every row its initial optimizer state. state: [rows, state_per_row(optimizer, dim)].
template <class Exec>
void fill_state(const Exec& exec, const Optimizer& optimizer, std::int64_t rows, std::int64_t dim, float* state);

/// Counts the rows in which at least one bit differs from the initial values: an update must change the touched ones
/// and no others.
template <class Exec>
std::int64_t count_changed_rows(const Exec& exec, const RowValues& values, const ShardRows& shard, const void* rows);

/// Sets output[k, c] to the value of column c of local row wanted[k], as fp32. output: [wanted, dim].
template <class Exec>
void read_rows(const Exec& exec, const ShardRows& shard, const void* rows, ConstArray<Exec, std::int64_t> wanted,
               Array<Exec, float> output);

}  // namespace shardmark::kernels
