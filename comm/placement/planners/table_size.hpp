// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/plan.hpp"

namespace shardmark::placement {

/// Returns the number of values that a rank with the whole table keeps: rows x columns, or those of a tensor train's
/// cores and cached rows. Throws InputError where no cores fit the table.
inline std::int64_t elements_of(Table table) {
  table.value_type = ValueType::fp32;
  return load_of(whole(table, 0), table).table_bytes / row_bytes(ValueType::fp32, 1);
}

}  // namespace shardmark::placement
