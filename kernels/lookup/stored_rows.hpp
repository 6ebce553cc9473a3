// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device_chunks.hpp"
#include "kernels/simd.hpp"

namespace shardmark::kernels {

/// Reads a row of fp32, fp16 or bf16 as fp32.
template <class T>
struct StoredRow {
  const T* values;

  static constexpr std::int64_t bytes(std::int64_t dim) { return dim * std::int64_t{sizeof(T)}; }
  KOKKOS_FORCEINLINE_FUNCTION explicit StoredRow(const char* row) : values(reinterpret_cast<const T*>(row)) {}
  KOKKOS_FORCEINLINE_FUNCTION float operator[](std::int64_t c) const { return to_float(values[c]); }
  KOKKOS_FORCEINLINE_FUNCTION Simd lanes(std::int64_t c, std::int64_t count) const {
    return load_simd(values + c, count);
  }
};

/// Reads a row of int8, which no thread of the kernel writes: scale * q + offset, two roundings.
struct QuantizedRow {
  float scale, offset;
  const std::uint8_t* values;

  static constexpr std::int64_t bytes(std::int64_t dim) { return row_bytes(ValueType::int8, dim); }
  KOKKOS_FORCEINLINE_FUNCTION explicit QuantizedRow(const char* row)
      : scale(device::read_only(reinterpret_cast<const float*>(row))),
        offset(device::read_only(reinterpret_cast<const float*>(row) + 1)),
        values(reinterpret_cast<const std::uint8_t*>(row) + 2 * sizeof(float)) {}
  KOKKOS_FORCEINLINE_FUNCTION float operator[](std::int64_t c) const {
    return scale * static_cast<float>(values[c]) + offset;
  }
  KOKKOS_FORCEINLINE_FUNCTION Simd lanes(std::int64_t c, std::int64_t count) const {
    return scale * load_simd(values + c, count) + offset;
  }
};

/// Passes a type as an argument.
template <class T>
struct RowType {
  using type = T;
};

/// Calls body(RowType<StoredRow or QuantizedRow>{}): one test per run of rows, none per row.
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION void with_row_type(ValueType type, const Body& body) {
  switch (type) {
    case ValueType::fp32:
      return body(RowType<StoredRow<float>>{});
    case ValueType::fp16:
      return body(RowType<StoredRow<Fp16>>{});
    case ValueType::bf16:
      return body(RowType<StoredRow<Bf16>>{});
    case ValueType::int8:
      return body(RowType<QuantizedRow>{});
  }
}

/// Calls body(Value{}) with the type of the values of a trained table.
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION void with_trained_value(ValueType type, const Body& body) {
  switch (type) {
    case ValueType::fp32:
      return body(float{});
    case ValueType::fp16:
      return body(Fp16{});
    case ValueType::bf16:
      return body(Bf16{});
    case ValueType::int8:
      return;
  }
}

}  // namespace shardmark::kernels
