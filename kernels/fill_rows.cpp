// SPDX-License-Identifier: Apache-2.0
#include "kernels/fill_rows.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/lookup/stored_rows.hpp"
#include "reference/row_quantization.hpp"

namespace shardmark::kernels {

/// Visits what local row i of a shard holds at first, cell by cell: visit(byte within the row, what is stored there).
template <class Row>
struct InitialRow;

template <class T>
struct InitialRow<StoredRow<T>> {
  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION static void for_each_cell(const RowValues& values, const ShardRows& shard, std::int64_t i,
                                                        const Visit& visit) {
    const std::int64_t row = shard.begin + i * shard.stride;
    for (std::int64_t c = 0; c < shard.dim; ++c)
      visit(c * std::int64_t{sizeof(T)}, rounded_to<T>(values(shard.table, row, shard.column_begin + c)));
  }
};

template <>
struct InitialRow<QuantizedRow> {
  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION static void for_each_cell(const RowValues& values, const ShardRows& shard, std::int64_t i,
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

struct FillRows {
  RowValues values;
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

template <class Exec>
void fill_rows(const Exec& exec, const RowValues& values, const ShardRows& shard, void* rows) {
  Kokkos::parallel_for("shardmark::fill_rows", static_range(exec, shard.count),
                       FillRows{values, shard, static_cast<char*>(rows)});
}

template <class Exec>
void fill_state(const Exec& exec, const Optimizer& optimizer, std::int64_t rows, std::int64_t dim, float* state) {
  const std::int64_t size = state_per_row(optimizer.kind, dim);
  Kokkos::parallel_for(
      "shardmark::fill_state", static_range(exec, rows), KOKKOS_LAMBDA(const std::int64_t i) {
        for (std::int64_t k = 0; k < size; ++k) state[i * size + k] = initial_state(optimizer, dim, k);
      });
}

struct CountChangedRows {
  RowValues values;
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

template <class Exec>
std::int64_t count_changed_rows(const Exec& exec, const RowValues& values, const ShardRows& shard, const void* rows) {
  std::int64_t changed = 0;
  Kokkos::parallel_reduce("shardmark::count_changed_rows", static_range(exec, shard.count),
                          CountChangedRows{values, shard, static_cast<const char*>(rows)}, changed);
  return changed;
}

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

#define FILL_ROWS_ON(Exec)            \
  SHARDMARK_INSTANCE(fill_rows<Exec>) \
  SHARDMARK_INSTANCE(fill_state<Exec>) SHARDMARK_INSTANCE(read_rows<Exec>) SHARDMARK_INSTANCE(count_changed_rows<Exec>)
SHARDMARK_ON_EACH_SPACE(FILL_ROWS_ON)

}  // namespace shardmark::kernels
