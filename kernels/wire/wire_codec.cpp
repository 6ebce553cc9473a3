// SPDX-License-Identifier: Apache-2.0
#include "kernels/wire/wire_codec.hpp"

#include "kernels/instantiate.hpp"
#include "kernels/lookup/column_blocks.hpp"
#include "kernels/lookup/stored_rows.hpp"
#include "kernels/sort/balanced_ranges.hpp"
#include "reference/row_quantization.hpp"

namespace shardmark::kernels {

/// Encodes a row rounded to nearest, ties to even, as rounded_to does.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void encode_row(const float* vector, char* row, std::int64_t dim, RowType<StoredRow<T>>) {
  T* values = reinterpret_cast<T*>(row);
  for (std::int64_t c = 0; c < dim; c += simd_width) store_simd(values + c, load_simd(vector + c, dim - c), dim - c);
}

/// Encodes a row as RowScale::quantized does: adding 2^23 leaves the nearest integer, ties to even, in the low bits.
template <class Dim>
KOKKOS_FORCEINLINE_FUNCTION void encode_row(const float* vector, char* row, Dim dim, RowType<QuantizedRow>) {
  float low = vector[0], high = vector[0];
#pragma omp simd reduction(min : low) reduction(max : high)
  for (std::int64_t c = 0; c < dim; ++c) {
    low = vector[c] < low ? vector[c] : low;
    high = vector[c] > high ? vector[c] : high;
  }
  const float scale = row_scale(low, high).scale;
  reinterpret_cast<float*>(row)[0] = scale;
  reinterpret_cast<float*>(row)[1] = low;
  auto* q = reinterpret_cast<std::uint8_t*>(row + 2 * sizeof(float));
#pragma omp simd
  for (std::int64_t c = 0; c < dim; ++c) {
    const float steps = scale == 0.0F ? 0.0F : (vector[c] - low) / scale;
    q[c] = static_cast<std::uint8_t>(Kokkos::bit_cast<std::uint32_t>((steps < 255.0F ? steps : 255.0F) + 0x1p23F));
  }
  for (std::int64_t c = dim; c < (dim + 3) / 4 * 4; ++c) q[c] = 0;
}

template <class Row, class Dim>
KOKKOS_FORCEINLINE_FUNCTION void decode_row(const char* row, float* vector, Dim dim, RowType<Row>) {
  const Row values(row);
  for (std::int64_t c = 0; c < dim; c += simd_width) store_simd(vector + c, values.lanes(c, dim - c), dim - c);
}

/// Calls body(row type, byte of a row on the wire, element of its vector, dim) for rows [first, first + count) of a
/// block; without a scale per row they are one long row.
template <class Row, class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_rows(const WireBlock& block, std::int64_t first, std::int64_t count,
                                          const Body& body) {
  const std::int64_t byte = block.wire + first * Row::bytes(block.dim);
  const std::int64_t element = block.vectors + first * block.dim;
  if constexpr (!std::is_same_v<Row, QuantizedRow>)
    body(RowType<Row>{}, byte, element, count * block.dim);
  else
    with_width(block.dim, [&](auto dim) {
      for (std::int64_t i = 0; i < count; ++i) body(RowType<Row>{}, byte + i * Row::bytes(dim), element + i * dim, dim);
    });
}

/// Calls for_rows of all blocks.
template <class Exec, class Body>
void for_each_wire_row(const std::string& label, const Exec& exec, ValueType type, std::int64_t rows,
                       ConstArray<Exec, WireBlock> blocks, const Body& body) {
  constexpr std::int64_t grain = 128;
  const auto block_count = static_cast<std::int64_t>(blocks.extent(0));
  if (rows == 0 || block_count == 0) return;
  Kokkos::parallel_for(
      label, static_range(exec, (rows + grain - 1) / grain), KOKKOS_LAMBDA(const std::int64_t range) {
        with_row_type(type, [&](auto row_type) {
          using Row = typename decltype(row_type)::type;
          const std::int64_t end = Kokkos::min(rows, (range + 1) * grain);
          std::int64_t b =
              last_at_most(block_count, range * grain, [&](std::int64_t i) { return blocks(i).first_row; });
          for (std::int64_t row = range * grain; row < end; ++b) {
            const WireBlock block = blocks(b);
            const std::int64_t stop = Kokkos::min(end, block.first_row + block.rows);
            for_rows<Row>(block, row - block.first_row, stop - row, body);
            row = stop;
          }
        });
      });
}

/// These are the bodies of for_rows. (They are classes because nvcc takes no generic lambdas into a kernel.)
struct EncodeRow {
  const float* vectors;
  char* wire;

  template <class RowType, class Dim>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(RowType type, std::int64_t byte, std::int64_t element, Dim dim) const {
    encode_row(vectors + element, wire + byte, dim, type);
  }
};
struct DecodeRow {
  const char* wire;
  float* vectors;

  template <class RowType, class Dim>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(RowType type, std::int64_t byte, std::int64_t element, Dim dim) const {
    decode_row(wire + byte, vectors + element, dim, type);
  }
};

template <class Exec>
void encode_wire(const Exec& exec, ValueType type, std::int64_t rows, ConstArray<Exec, WireBlock> blocks,
                 ConstArray<Exec, float> vectors, const Array<Exec, char>& wire) {
  for_each_wire_row("shardmark::encode_wire", exec, type, rows, blocks, EncodeRow{vectors.data(), wire.data()});
}

template <class Exec>
void decode_wire(const Exec& exec, ValueType type, std::int64_t rows, ConstArray<Exec, WireBlock> blocks,
                 ConstArray<Exec, char> wire, const Array<Exec, float>& vectors) {
  for_each_wire_row("shardmark::decode_wire", exec, type, rows, blocks, DecodeRow{wire.data(), vectors.data()});
}

SHARDMARK_INSTANCE(encode_wire<DefaultSpace>)
SHARDMARK_INSTANCE(decode_wire<DefaultSpace>)

}  // namespace shardmark::kernels
