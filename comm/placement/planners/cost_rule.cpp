// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/planners/cost_rule.hpp"

#include "comm/placement/planners/row_wise.hpp"
#include "comm/placement/statistics/lookup_statistics.hpp"

namespace shardmark::placement {
namespace {

/// Returns the samples of the rank with most of them.
std::int64_t samples_of_rank(const PlanRequest& request) {
  return (request.global_batch + request.ranks - 1) / request.ranks;
}

/// Places tables for which replicated(t) on every rank, and leaves the others as `placements` has them.
template <class Replicated>
std::vector<TablePlacement> replicate_where(const Replicated& replicated, std::vector<TablePlacement> placements) {
  for (std::size_t t = 0; t < placements.size(); ++t)
    if (replicated(t)) placements[t] = {.data_parallel = true, .shards = {}};
  return placements;
}

}  // namespace

std::vector<TablePlacement> place_cost_rule(std::span<const Table> tables, std::span<const Feature> features,
                                            const PlanRequest& request) {
  const std::int64_t hint = request.settings.maybe_whole("hint").value_or(samples_of_rank(request));
  const auto replicated = [&](std::size_t t) { return tables[t].rows <= request.ranks || tables[t].rows <= hint; };
  return replicate_where(replicated, place_row_wise(tables, features, request));
}

std::vector<TablePlacement> place_cost_rule_bytes(std::span<const Table> tables, std::span<const Feature> features,
                                                  const PlanRequest& request) {
  Plan split{.name = {}, .ranks = request.ranks, .tables = place_row_wise(tables, features, request)};
  const auto id = static_cast<double>(bytes_of(id_type(request.movement.wire_ids, split, tables)));
  const LookupStatistics statistics(tables, features, request.ids);
  const auto replicated = [&](std::size_t t) {
    const Table& table = tables[t];
    const RowSet all{0, table.rows, 1};
    const double distinct =
        statistics.expected(static_cast<std::int64_t>(t), all, samples_of_rank(request)).distinct_rows;
    const auto vectors = static_cast<double>(row_bytes(request.movement.wire.forward, table.dim) +
                                             row_bytes(request.movement.wire.backward, table.dim));
    return 2.0 * static_cast<double>(table.rows) * static_cast<double>(table.dim * 4) <= distinct * (vectors + id);
  };
  return replicate_where(replicated, std::move(split.tables));
}

}  // namespace shardmark::placement
