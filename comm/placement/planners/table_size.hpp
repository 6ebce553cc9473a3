// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/placement/plan.hpp"

namespace shardmark {

/// Values that a rank with the whole table keeps: rows x columns, or those of a tensor train's cores and cached rows.
/// Throws InputError where no cores fit the table.
inline std::int64_t elements_of(const Table& table) {
  return load_of(whole(table, 0), table).table_bytes / static_cast<std::int64_t>(sizeof(float));
}

}  // namespace shardmark
