// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "kernels/test/bags.hpp"
#include "reference/row_quantization.hpp"
#include "reference/row_values.hpp"
#include "reference/value_type.hpp"

namespace shardmark::kernels::test {

/// A table on the host: as it is stored, and what the stored values are in fp32.
struct HostTable {
  ValueType value_type;
  std::int64_t dim;
  std::vector<char> bytes;    ///< [rows] of row_bytes(value_type, dim)
  std::vector<float> values;  ///< [rows, dim]

  HostTable(ValueType type, std::int64_t rows, std::int64_t row_dim) : value_type(type), dim(row_dim) {
    bytes.resize(at(rows * row_bytes(type, dim)));
    values.resize(at(rows * dim));
  }

  /// Table number `table` of `initial`, rounded to the value type.
  HostTable(ValueType type, std::int64_t rows, std::int64_t row_dim, const RowValues& initial, std::int64_t table)
      : HostTable(type, rows, row_dim) {
    std::vector<float> row(at(dim));
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t c = 0; c < dim; ++c) row[at(c)] = initial(table, i, c);
      set_row(i, row);
    }
  }

  void set_row(std::int64_t i, const std::vector<float>& row) {
    const RowScale scale = row_scale(row);
    char* stored = &bytes[at(i * row_bytes(value_type, dim))];
    if (value_type == ValueType::int8) std::memcpy(stored, &scale, sizeof scale);
    for (std::int64_t c = 0; c < dim; ++c) values[at(i * dim + c)] = store(stored, c, row[at(c)], scale);
  }

  std::span<const float> row(std::int64_t i) const { return std::span(values).subspan(at(i * dim), at(dim)); }

 private:
  float store(char* stored, std::int64_t c, float value, const RowScale& scale) const {
    const auto put = [&](auto bits, std::int64_t begin) {
      std::memcpy(stored + begin + c * std::int64_t{sizeof bits}, &bits, sizeof bits);
    };
    switch (value_type) {
      case ValueType::fp32:
        put(value, 0);
        return value;
      case ValueType::fp16:
        put(rounded_to<Fp16>(value), 0);
        return to_float(rounded_to<Fp16>(value));
      case ValueType::bf16:
        put(rounded_to<Bf16>(value), 0);
        return to_float(rounded_to<Bf16>(value));
      default:
        put(scale.quantized(value), 8);
        return scale.value(scale.quantized(value));
    }
  }
};

}  // namespace shardmark::kernels::test
