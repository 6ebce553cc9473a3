// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/tables/store.hpp"

namespace shardmark::workloads {

/// Is where the rows of one part lie, back to back in one array, and their state in another: it reads and writes them
/// as Store does.
struct RowArrays {
  std::byte* values = nullptr;  ///< [rows] of row_bytes(value_type, dim)
  float* state = nullptr;       ///< [rows, state_per_row(optimizer, dim)]
  std::int64_t rows = 0, dim = 0;
  ValueType value_type = ValueType::fp32;
  OptimizerKind optimizer = OptimizerKind::none;

  ChosenRows read_rows(const std::vector<std::int64_t>& local_rows) const;
  StoredRows read_range(std::int64_t first, std::int64_t count) const;
  void write_range(std::int64_t first, const StoredRows& stored) const;
  /// Do the same for rows at some places.
  StoredRows read_places(const ConstDeviceArray<std::int64_t>& places) const;
  void write_places(const ConstDeviceArray<std::int64_t>& places, const StoredRows& stored) const;

  /// Return the bytes of the values of a row, and the floats of its state.
  std::int64_t value_bytes() const { return row_bytes(value_type, dim); }
  std::int64_t state_size() const { return state_per_row(optimizer, dim); }

 private:
  void require(std::int64_t first, std::int64_t count) const;
  void require_rows(std::int64_t count, const StoredRows& stored) const;
};

}  // namespace shardmark::workloads
