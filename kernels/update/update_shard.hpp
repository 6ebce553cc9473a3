// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device_chunks.hpp"
#include "kernels/update/row_gradients.hpp"
#include "reference/optimizer.hpp"
#include "reference/value_type.hpp"

namespace shardmark::kernels {

/// Describes a shard that is updated in place. Its local row i is row row_begin + i row_stride of `table`, its column c
/// column column_begin + c: with these the random bits of stochastic rounding are the same wherever a row is held.
struct UpdateShard {
  void* rows = nullptr;        ///< [rows of the shard, dim] of value_type: fp32, fp16 or bf16
  float* state = nullptr;      ///< [rows of the shard, state_per_row(optimizer, dim)]
  std::int64_t first_key = 0;  ///< key = first_key + local row
  std::int64_t dim = 0;        ///< columns held here
  std::int64_t full_dim = 0;   ///< columns of the whole table
  Optimizer optimizer{};
  ValueType value_type = ValueType::fp32;
  bool stochastic_rounding = false;
  std::int64_t table = 0;
  std::int64_t row_begin = 0;
  std::int64_t row_stride = 1;
  std::int64_t column_begin = 0;
  /// These are [rows of the shard] the numbers of the rows, where they lie in no order; else null.
  const std::int64_t* row_numbers = nullptr;

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t number(std::int64_t row) const {
    return row_numbers == nullptr ? row_begin + row * row_stride : device::read_only(row_numbers + row);
  }
};

/// Identifies the step: its number t, from 1, for bias corrections, and with the seed for stochastic rounding.
struct UpdateStep {
  std::int64_t number = 1;
  std::uint64_t seed = 0;
};

/// Holds sums over the distinct rows, for pooled_lookup_work and fused_update_work.
struct RowElements {
  std::int64_t rows = 0;
  std::int64_t values = 0;  ///< of dim
  std::int64_t bytes = 0;   ///< of row_bytes
  std::int64_t state = 0;   ///< of state_per_row
};
/// Returns these sums over the distinct rows of `unique`. Waits for the device.
template <class Exec>
RowElements row_elements(const Exec& exec, const UniqueRows<Exec>& unique, const ShardList<Exec, UpdateShard>& list);

}  // namespace shardmark::kernels
