// SPDX-License-Identifier: Apache-2.0
#include "kernels/fill_rows.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/lookup/stored_rows.hpp"
#include "reference/row_quantization.hpp"

namespace shardmark::kernels {

/// Visits what a row of a shard's table holds at first, cell by cell: visit(byte within the row, what is stored there).
template <class Row>
struct InitialRow;

template <class T>
struct InitialRow<StoredRow<T>> {
  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION static void for_each_cell(const RowValues& values, const ShardRows& shard,
                                                        std::int64_t row, const Visit& visit) {
    for (std::int64_t c = 0; c < shard.dim; ++c)
      visit(c * std::int64_t{sizeof(T)}, rounded_to<T>(values(shard.table, row, shard.column_begin + c)));
  }
};

template <>
struct InitialRow<QuantizedRow> {
  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION static void for_each_cell(const RowValues& values, const ShardRows& shard,
                                                        std::int64_t row, const Visit& visit) {
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

/// Says which row of a shard lies where: its local row i is row begin + i * stride.
struct RowsInOrder {
  std::int64_t begin, stride, count_;

  std::int64_t count() const { return count_; }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t number(std::int64_t i) const { return begin + i * stride; }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t place(std::int64_t i) const { return i; }
};
template <class Exec>
struct RowsAtPlaces : PlacedRows<Exec> {
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t number(std::int64_t i) const { return this->numbers(this->chosen(i)); }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t place(std::int64_t i) const { return this->places(this->chosen(i)); }
};

template <class Rows>
struct FillRows {
  RowValues values;
  ShardRows shard;
  Rows which;
  char* rows;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    char* const row = rows + which.place(i) * row_bytes(shard.value_type, shard.dim);
    with_row_type(shard.value_type, [&](auto type) {
      InitialRow<typename decltype(type)::type>::for_each_cell(
          values, shard, which.number(i),
          [&](std::int64_t byte, auto value) { *reinterpret_cast<decltype(value)*>(row + byte) = value; });
    });
  }
};

template <class Exec, class Rows>
void fill(const Exec& exec, const RowValues& values, const ShardRows& shard, const Rows& which, void* rows) {
  Kokkos::parallel_for("shardmark::fill_rows", static_range(exec, which.count()),
                       FillRows<Rows>{values, shard, which, static_cast<char*>(rows)});
}

template <class Exec>
void fill_rows(const Exec& exec, const RowValues& values, const ShardRows& shard, void* rows) {
  fill(exec, values, shard, RowsInOrder{shard.begin, shard.stride, shard.count}, rows);
}

template <class Exec>
void fill_placed_rows(const Exec& exec, const RowValues& values, const ShardRows& shard, const PlacedRows<Exec>& placed,
                      void* rows) {
  fill(exec, values, shard, RowsAtPlaces<Exec>{placed}, rows);
}

template <class Exec>
void fill_placed_state(const Exec& exec, const Optimizer& optimizer, const PlacedRows<Exec>& placed, std::int64_t dim,
                       float* state) {
  const std::int64_t size = state_per_row(optimizer.kind, dim);
  const RowsAtPlaces<Exec> which{placed};
  Kokkos::parallel_for(
      "shardmark::fill_state", static_range(exec, which.count()), KOKKOS_LAMBDA(const std::int64_t i) {
        for (std::int64_t k = 0; k < size; ++k) state[which.place(i) * size + k] = initial_state(optimizer, dim, k);
      });
}

template <class Exec>
void fill_state(const Exec& exec, const Optimizer& optimizer, std::int64_t rows, std::int64_t dim, float* state) {
  const std::int64_t size = state_per_row(optimizer.kind, dim);
  Kokkos::parallel_for(
      "shardmark::fill_state", static_range(exec, rows), KOKKOS_LAMBDA(const std::int64_t i) {
        for (std::int64_t k = 0; k < size; ++k) state[i * size + k] = initial_state(optimizer, dim, k);
      });
}

template <class Rows>
struct CountChangedRows {
  RowValues values;
  ShardRows shard;
  Rows which;
  const char* rows;

  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& count) const {
    const char* const row = rows + which.place(i) * row_bytes(shard.value_type, shard.dim);
    bool same = true;
    with_row_type(shard.value_type, [&](auto type) {
      InitialRow<typename decltype(type)::type>::for_each_cell(
          values, shard, which.number(i),
          [&](std::int64_t byte, auto value) { same &= equal_bits(row + byte, value); });
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

template <class Exec, class Rows>
std::int64_t count_changed(const Exec& exec, const RowValues& values, const ShardRows& shard, const Rows& which,
                           const void* rows) {
  std::int64_t changed = 0;
  Kokkos::parallel_reduce("shardmark::count_changed_rows", static_range(exec, which.count()),
                          CountChangedRows<Rows>{values, shard, which, static_cast<const char*>(rows)}, changed);
  return changed;
}

template <class Exec>
std::int64_t count_changed_rows(const Exec& exec, const RowValues& values, const ShardRows& shard, const void* rows) {
  return count_changed(exec, values, shard, RowsInOrder{shard.begin, shard.stride, shard.count}, rows);
}

template <class Exec>
std::int64_t count_changed_placed_rows(const Exec& exec, const RowValues& values, const ShardRows& shard,
                                       const PlacedRows<Exec>& placed, const void* rows) {
  return count_changed(exec, values, shard, RowsAtPlaces<Exec>{placed}, rows);
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

SHARDMARK_INSTANCE(fill_rows<DefaultSpace>)
SHARDMARK_INSTANCE(fill_placed_rows<DefaultSpace>)
SHARDMARK_INSTANCE(fill_placed_state<DefaultSpace>)
SHARDMARK_INSTANCE(fill_state<DefaultSpace>)
SHARDMARK_INSTANCE(read_rows<DefaultSpace>)
SHARDMARK_INSTANCE(count_changed_rows<DefaultSpace>)
SHARDMARK_INSTANCE(count_changed_placed_rows<DefaultSpace>)

}  // namespace shardmark::kernels
