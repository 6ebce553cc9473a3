// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "comm/placement/plan.hpp"
#include "reference/error.hpp"
#include "reference/storage.hpp"

namespace shardmark::placement {

/// Throws InputError that `format`, say "a HugeCTR plan file", cannot express `what` of the table.
[[noreturn]] inline void cannot_express(std::string_view format, const Table& table, std::string_view what) {
  throw InputError(fmt::format("table '{}': {} cannot express {}", table.name, format, what));
}

/// Throws InputError for what no format but ours can express: hot rows, a storage that the plan chose, and rows that
/// are computed.
inline void require_plain(std::string_view format, const Table& table, const TablePlacement& placement) {
  if (placement.hot_rows > 0)
    cannot_express(
        format, table,
        fmt::format("copies of its first {} rows on every rank; place it without hot rows", placement.hot_rows));
  if (placement.storage)
    cannot_express(format, table,
                   fmt::format("its storage, {}; leave it as the workload says", name_of(*placement.storage)));
  if (storage_of(table).computes())
    cannot_express(format, table, fmt::format("its storage, {}; give it storage dense", name_of(table.storage)));
}

}  // namespace shardmark::placement
