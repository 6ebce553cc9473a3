// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"
#include "kernels/stored_rows.hpp"
#include "kernels/work.hpp"
#include "reference/row_quantization.hpp"

namespace shardmark::kernels {

/// Which part of which table a shard is: local row i is row begin + i * stride, local column c column column_begin + c.
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

/// What local row i of a shard holds at first, cell by cell: visit(byte within the row, what is stored there).
/// Values: a function (table, row, column), for instance RowValues.
template <class Row>
struct InitialRow;

template <class T>
struct InitialRow<StoredRow<T>> {
  template <class Values, class Visit>
  KOKKOS_FORCEINLINE_FUNCTION static void for_each_cell(const Values& values, const ShardRows& shard, std::int64_t i,
                                                        const Visit& visit) {
    const std::int64_t row = shard.begin + i * shard.stride;
    for (std::int64_t c = 0; c < shard.dim; ++c)
      visit(c * std::int64_t{sizeof(T)}, rounded_to<T>(values(shard.table, row, shard.column_begin + c)));
  }
};

template <>
struct InitialRow<QuantizedRow> {
  template <class Values, class Visit>
  KOKKOS_FORCEINLINE_FUNCTION static void for_each_cell(const Values& values, const ShardRows& shard, std::int64_t i,
                                                        const Visit& visit) {
    const std::int64_t row = shard.begin + i * shard.stride;
    float min = values(shard.table, row, 0), max = min;
    for (std::int64_t c = 1; c < shard.full_dim; ++c) {
      min = Kokkos::min(min, values(shard.table, row, c));
      max = Kokkos::max(max, values(shard.table, row, c));
    }
    const RowScale scale = row_scale(min, max);
    visit(0, scale.scale);
    visit(4, scale.offset);
    for (std::int64_t c = 0; c < shard.dim; ++c)
      visit(8 + c, scale.quantized(values(shard.table, row, shard.column_begin + c)));
  }
};

template <class Values>
struct FillRows {
  Values values;
  ShardRows shard;
  char* rows;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    char* const row = rows + i * row_bytes(shard.value_type, shard.dim);
    with_row_type(shard.value_type, [&](auto type) {
      InitialRow<typename decltype(type)::type>::for_each_cell(values, shard, i, [&](std::int64_t byte, auto value) {
        *reinterpret_cast<decltype(value)*>(row + byte) = value;
      });
    });
  }
};

/// Gives every row of the shard its initial values. The rows are dealt to threads in order, so that on first touch the
/// memory of a shard spreads over the NUMA nodes of the threads. rows: [count], row_bytes(value_type, dim) each.
template <class Exec, class Values>
void fill_rows(const Exec& exec, const Values& values, const ShardRows& shard, void* rows) {
  Kokkos::parallel_for("shardmark::fill_rows", static_range(exec, shard.count),
                       FillRows<Values>{values, shard, static_cast<char*>(rows)});
}

template <class Values>
struct CountChangedRows {
  Values values;
  ShardRows shard;
  const char* rows;

  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& count) const {
    const char* const row = rows + i * row_bytes(shard.value_type, shard.dim);
    bool same = true;
    with_row_type(shard.value_type, [&](auto type) {
      InitialRow<typename decltype(type)::type>::for_each_cell(
          values, shard, i, [&](std::int64_t byte, auto value) { same &= equal_bits(row + byte, value); });
    });
    count += !same;
  }

 private:
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static bool equal_bits(const char* stored, T value) {
    const auto* const expected = reinterpret_cast<const char*>(&value);
    bool equal = true;
    for (std::size_t byte = 0; byte < sizeof(T); ++byte) equal &= stored[byte] == expected[byte];
    return equal;
  }
};

/// Rows in which at least one bit differs from the initial values: an update must change the touched ones and no
/// others.
template <class Exec, class Values>
std::int64_t count_changed_rows(const Exec& exec, const Values& values, const ShardRows& shard, const void* rows) {
  std::int64_t changed = 0;
  Kokkos::parallel_reduce("shardmark::count_changed_rows", static_range(exec, shard.count),
                          CountChangedRows<Values>{values, shard, static_cast<const char*>(rows)}, changed);
  return changed;
}

/// output[k, c] = value of column c of local row wanted[k], as fp32. output: [wanted, dim].
template <class Exec>
void read_rows(const Exec& exec, const ShardRows& shard, const void* rows, ConstArray<Exec, std::int64_t> wanted,
               Array<Exec, float> output) {
  Kokkos::parallel_for(
      "shardmark::read_rows", static_range(exec, static_cast<std::int64_t>(wanted.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t k) {
        const char* const row = static_cast<const char*>(rows) + wanted(k) * row_bytes(shard.value_type, shard.dim);
        with_row_type(shard.value_type, [&](auto type) {
          const typename decltype(type)::type values(row);
          for (std::int64_t c = 0; c < shard.dim; ++c) output(k * shard.dim + c) = values[c];
        });
      });
}

constexpr Work fill_rows_work(const ShardRows& shard) {
  return {.bytes_read = 0, .bytes_written = shard.count * row_bytes(shard.value_type, shard.dim), .flops = 0};
}

constexpr Work count_changed_rows_work(const ShardRows& shard) {
  return {.bytes_read = shard.count * row_bytes(shard.value_type, shard.dim), .bytes_written = 0, .flops = 0};
}

}  // namespace shardmark::kernels
