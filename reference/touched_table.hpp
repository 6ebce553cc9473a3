// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "reference/row_values.hpp"
#include "reference/table.hpp"

namespace shardmark::reference {

/// Returns the entries [slot * width, (slot + 1) * width) of `all`.
template <class Vector>
auto row_of(Vector& all, std::int64_t slot, std::int64_t width) {
  return std::span(all).subspan(slot * width, width);
}

/// Is a table of which only the rows that were touched exist in memory, so that a case of any size can be checked.
/// Beside every value and every number of optimizer state stands a bound: by how much another correct evaluation, with
/// another order of summation or with fused multiply-adds, may differ. A bound of 0 requires equal bits. Values start
/// as the value type of the table stores the initial ones; those of int8 are bounded by the rounding of scale q, which
/// a fused multiply-add leaves out.
class TouchedTable {
 public:
  TouchedTable(const Table& table, std::int64_t number, const RowValues& initial);

  /// Writes the initial values [dim] of a row, before the value type of the table stores it, and, unless they are 0,
  /// their bounds.
  using InitialRow = std::function<void(std::int64_t row, std::span<float> values, std::span<float> bounds)>;
  /// Makes the same from other initial values; `seed` is that of stochastic rounding.
  TouchedTable(const Table& table, std::int64_t number, std::uint64_t seed, InitialRow initial);

  /// Returns the table before any row was touched.
  TouchedTable untouched() const { return {table_, number_, seed_, initial_}; }

  /// Returns the slot of `row`, which is made and filled with its initial values and state when it is new. Slots count
  /// up from 0.
  std::int64_t touch(std::int64_t row);

  /// Forgets a row that was touched; the last slot becomes that of another row. It is new when it is touched again.
  void forget(std::int64_t row);

  /// Returns the slot of `row`, or -1 when it was never touched.
  std::int64_t find(std::int64_t row) const;

  const Table& table() const { return table_; }
  std::uint64_t seed() const { return seed_; }
  std::int64_t number() const { return number_; }
  std::int64_t state_size() const { return state_size_; }

  const std::vector<std::int64_t>& rows() const { return rows_; }  ///< by slot

  std::span<float> values(std::int64_t slot) { return row_of(values_, slot, table_.dim); }
  std::span<float> value_bounds(std::int64_t slot) { return row_of(value_bounds_, slot, table_.dim); }
  std::span<float> state(std::int64_t slot) { return row_of(state_, slot, state_size_); }
  std::span<float> state_bounds(std::int64_t slot) { return row_of(state_bounds_, slot, state_size_); }
  std::span<const float> values(std::int64_t slot) const { return row_of(values_, slot, table_.dim); }
  std::span<const float> value_bounds(std::int64_t slot) const { return row_of(value_bounds_, slot, table_.dim); }
  std::span<const float> state(std::int64_t slot) const { return row_of(state_, slot, state_size_); }
  std::span<const float> state_bounds(std::int64_t slot) const { return row_of(state_bounds_, slot, state_size_); }

 private:
  Table table_;
  std::int64_t number_;
  std::uint64_t seed_;
  InitialRow initial_;
  std::int64_t state_size_;
  std::unordered_map<std::int64_t, std::int64_t> slot_of_;
  std::vector<std::int64_t> rows_;
  std::vector<float> values_, value_bounds_, state_, state_bounds_;
};

}  // namespace shardmark::reference
