// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>

#include "comm/placement/plan.hpp"
#include "workloads/cases/spec.hpp"

namespace shardmark::workloads {

/// Returns three digits and a prefix of the SI: "306 M", "24".
inline std::string with_si_prefix(double number) {
  constexpr std::array prefixes{"", "k", "M", "G", "T", "P", "E"};
  std::size_t prefix = 0;
  for (; number >= 999.5 && prefix + 1 < prefixes.size(); ++prefix) number /= 1000.0;
  return fmt::format("{:.3g} {}", number, prefixes[prefix]);
}

/// Returns "1 table" or "3 tables".
inline std::string counted_with_prefix(double number, std::string_view what) {
  const std::string text = with_si_prefix(number);
  return fmt::format("{}{}{}{}", text, text.ends_with(' ') ? "" : " ", what, number == 1.0 ? "" : "s");
}

/// Returns what a workload comes to in one line: "5 tables, 306 M rows, 80.7 GB with optimizer state, 29 ids a sample,
/// batch 65536". Throws InputError where a table cannot be stored as the spec says.
inline std::string summary_of(const Workload& workload) {
  double rows = 0.0, bytes = 0.0, ids = 0.0;
  for (const Table& table : workload.tables) {
    rows += static_cast<double>(table.rows);
    bytes += placement::stored_bytes(table, table.rows, table.dim);
  }
  for (const Feature& feature : workload.features) ids += static_cast<double>(feature.hotness);
  return fmt::format("{}, {}, {}B with optimizer state, {} a sample{}, batch {}{}",
                     counted_with_prefix(static_cast<double>(workload.tables.size()), "table"),
                     counted_with_prefix(rows, "row"), with_si_prefix(bytes), counted_with_prefix(ids, "id"),
                     workload.ids.ragged ? " on average" : "", workload.global_batch,
                     workload.batch_per_rank > 0 ? fmt::format(", {} a rank", workload.batch_per_rank) : "");
}

}  // namespace shardmark::workloads
