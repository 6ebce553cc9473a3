// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/async.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/error.hpp"
#include "reference/number.hpp"
#include "reference/storage.hpp"
#include "workloads/cases/case.hpp"

namespace shardmark::workloads {

std::string StagePool::name() const {
  return kind == PoolKind::dedicated ? fmt::format("{}:{}", name_of(kind), cores) : std::string(name_of(kind));
}

StagePool stage_pool_named(std::string_view text) {
  const auto colon = text.find(':');
  StagePool pool{named<PoolKind>(text.substr(0, colon))};
  if (pool.kind == PoolKind::dedicated) pool.cores = 1;
  if (colon == text.npos) return pool;
  const auto cores = number_in<std::int64_t>(text.substr(colon + 1));
  if (pool.kind != PoolKind::dedicated || !cores || *cores < 1)
    throw InputError(fmt::format("'{}': a number of at least 1 goes with dedicated alone, such as dedicated:2", text));
  pool.cores = *cores;
  return pool;
}

namespace {

bool splits_rows_of(const placement::TablePlacement& placement) {
  const auto kind = placement::kind_of(placement);
  return placement.hot_rows > 0 || kind.ends_with("row_wise") || kind.ends_with("grid");
}

}  // namespace

void require_async(const placement::Plan& plan, const std::vector<Table>& tables, const std::vector<Feature>& features,
                   const Case& config) {
  if (!config.async.looks_up()) return;
  const auto mode = name_of(config.async.mode);
  for (const Table& table : tables)
    if (!storage_of(table).can_prefetch)
      throw InputError(
          fmt::format("table {}: storage {} cannot be prefetched (--async {}); use "
                      "--async off or ids, or --storage dense",
                      table.name, name_of(table.storage), mode));
  for (const Feature& feature : features)
    if (config.async.mode == AsyncMode::rows && feature.pooling == Pooling::max)
      throw InputError(
          fmt::format("feature {} pools by max: its gradient goes to the row that is the maximum, which "
                      "stale rows no longer are; use --async ids or patched",
                      feature.name));
  const placement::RowTransfer transfer = config.transfer();
  const bool one_by_one =
      transfer == placement::RowTransfer::dense_partials || transfer == placement::RowTransfer::sparse_partials;
  if (config.async.mode != AsyncMode::patched || one_by_one) return;
  if (std::ranges::any_of(plan.tables, splits_rows_of))
    throw InputError(
        fmt::format("plan {}: --async patched sends single vectors again, which transfer {} does not have; "
                    "use --transfer dense_partials or sparse_partials, or --async ids",
                    plan.name, name_of(transfer)));
}

}  // namespace shardmark::workloads
