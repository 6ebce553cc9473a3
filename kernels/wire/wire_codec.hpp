// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"
#include "reference/value_type.hpp"

namespace shardmark::kernels {

/// Describes vectors of one dim, back to back in memory and on the wire.
struct WireBlock {
  std::int64_t first_row = 0;  ///< among the rows of all blocks
  std::int64_t rows = 0;
  std::int64_t dim = 0;
  std::int64_t vectors = 0;  ///< element of the first vector
  std::int64_t wire = 0;     ///< byte of the first row, a multiple of 4
};

/// Returns the bytes on the wire of a block's rows: row_bytes(type, dim) each, so that every row can be read alone.
constexpr std::int64_t wire_bytes(ValueType type, const WireBlock& block) {
  return block.rows * row_bytes(type, block.dim);
}

/// Encodes vectors as wire rows of `type`: fp32, fp16 and bf16 rounded to nearest, int8 with a scale and an offset per
/// row (an error of at most (max - min) / 510 per value). fp32 is a copy. Finite values stay finite: they saturate.
///   rows:   of all blocks;  blocks: ascending first_row, covering rows [0, rows)
///   vectors: where block.vectors points;  wire: bytes, aligned to 4
template <class Exec>
void encode_wire(const Exec& exec, ValueType type, std::int64_t rows, ConstArray<Exec, WireBlock> blocks,
                 ConstArray<Exec, float> vectors, const Array<Exec, char>& wire);

/// Decodes wire rows of `type` to vectors, exactly; see encode_wire.
template <class Exec>
void decode_wire(const Exec& exec, ValueType type, std::int64_t rows, ConstArray<Exec, WireBlock> blocks,
                 ConstArray<Exec, char> wire, const Array<Exec, float>& vectors);

}  // namespace shardmark::kernels
