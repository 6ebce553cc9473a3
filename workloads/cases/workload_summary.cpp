// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/workload_summary.hpp"

#include <fmt/format.h>

#include <array>

#include "comm/placement/plan.hpp"

namespace shardmark::workloads {
namespace {

/// Returns three digits and a prefix of the SI: "306 M", "24".
std::string with_prefix(double number) {
  constexpr std::array prefixes{"", "k", "M", "G", "T", "P", "E"};
  std::size_t prefix = 0;
  for (; number >= 999.5 && prefix + 1 < prefixes.size(); ++prefix) number /= 1000.0;
  return fmt::format("{:.3g} {}", number, prefixes[prefix]);
}

/// Returns "1 table" or "3 tables".
std::string counted(double number, std::string_view what) {
  const std::string text = with_prefix(number);
  return fmt::format("{}{}{}{}", text, text.ends_with(' ') ? "" : " ", what, number == 1.0 ? "" : "s");
}

}  // namespace

std::string summary_of(const Workload& workload) {
  double rows = 0.0, bytes = 0.0, ids = 0.0;
  for (const Table& table : workload.tables) {
    rows += static_cast<double>(table.rows);
    bytes += placement::stored_bytes(table, table.rows, table.dim);
  }
  for (const Feature& feature : workload.features) ids += static_cast<double>(feature.hotness);
  return fmt::format("{}, {}, {}B with optimizer state, {} a sample{}, batch {}{}",
                     counted(static_cast<double>(workload.tables.size()), "table"), counted(rows, "row"),
                     with_prefix(bytes), counted(ids, "id"), workload.ids.ragged ? " on average" : "",
                     workload.global_batch,
                     workload.batch_per_rank > 0 ? fmt::format(", {} a rank", workload.batch_per_rank) : "");
}

}  // namespace shardmark::workloads
