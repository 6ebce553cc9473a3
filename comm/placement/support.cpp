// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/support.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace shardmark {

void require_supported(const Plan& plan, const std::vector<Table>& tables, const std::vector<Feature>& features,
                       const Movement& movement) {
  const RowTransfer transfer = movement.transfer;
  const Dedup dedup = movement.dedup;
  if (dedup != Dedup::automatic && dedup != Dedup::off && transfer != RowTransfer::unique_rows)
    throw InputError(fmt::format("dedup {}: transfer {} sends pooled vectors, not rows; use transfer unique_rows",
                                 name_of(dedup), name_of(transfer)));
  for (const Table& table : tables)
    if (table.value_type == ValueType::int8 && table.optimizer.kind != OptimizerKind::none)
      throw InputError(fmt::format("table {}: int8 rows can be looked up but not trained by {}; use --optimizer none",
                                   table.name, name_of(table.optimizer.kind)));
  for (const Feature& feature : features) {
    if (feature.pooling != Pooling::max || transfer == RowTransfer::unique_rows || transfer == RowTransfer::automatic)
      continue;
    const auto number = static_cast<std::size_t>(feature.table);
    const Table& table = tables[number];
    if (std::ranges::any_of(plan.tables[number].shards, [&](const Shard& s) { return s.rows.count() < table.rows; }))
      throw InputError(fmt::format(
          "plan {} splits table {} by rows, but feature {} pools by max, whose gradient goes to "
          "the largest row of the whole bag; {} adds parts of bags: use transfer unique_rows, or a plan that "
          "keeps its rows together",
          plan.name, table.name, feature.name, name_of(transfer)));
  }
}

}  // namespace shardmark
