// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <set>

#include "comm/placement/show.hpp"
#include "comm/placement/show_columns.hpp"
#include "reference/storage.hpp"

namespace shardmark::placement {
namespace {

using Json = nlohmann::ordered_json;

Json rank_json(const PlanFacts& facts, std::size_t rank) {
  Json json{{"rank", rank}};
  for (const RankColumn& column : rank_columns) json[column.key] = column.value(facts.ranks[rank]);
  for (const char* key : {"tables", "rows", "held_bytes"}) json[key] = json[key].get<std::int64_t>();
  return json;
}

Json phases_json(const StepPrediction& step) {
  Json json = Json::object();
  for (std::size_t p = 0; p < phase_count; ++p) {
    const PhasePrediction& phase = step.phases[p];
    json[phase_names[p]] = {{"ms", 1e3 * phase.seconds},
                            {"exchange_ms", 1e3 * phase.exchange},
                            {"slowest_rank", phase.slowest_rank},
                            {"imbalance", imbalance_of(phase)}};
  }
  return json;
}

Json table_json(const TablePlacement& placement, const Table& table, int ranks) {
  return {{"name", table.name},
          {"rows", table.rows},
          {"dim", table.dim},
          {"storage", name_of(table.storage)},
          {"bytes", bytes_of(table)},
          {"placement", kind_of(placement)},
          {"shards", shards_of(placement, ranks)},
          {"hot_rows", placement.hot_rows},
          {"ranks", ranks_of(placement)}};
}

Json busiest_json(const BusiestRank& busiest, std::span<const Table> tables, const char* key, double factor) {
  Json shares = Json::array();
  for (const TableShare& share : busiest.tables)
    shares.push_back({{"name", tables[share.table].name}, {key, factor * share.amount}});
  return {{"rank", busiest.rank}, {key, factor * busiest.amount}, {"tables", std::move(shares)}};
}

}  // namespace

Json to_json(const PlanFacts& facts, const Plan& plan, std::span<const Table> tables) {
  Json json{{"plan", plan.name},
            {"ranks", plan.ranks},
            {"step_ms", 1e3 * facts.step.seconds},
            {"phases", phases_json(facts.step)},
            {"per_rank", Json::array()},
            {"idle_ranks", facts.idle},
            {"slowest_rank", busiest_json(facts.slowest, tables, "ms", 1e3)},
            {"fullest_rank", busiest_json(facts.fullest, tables, "bytes", 1.0)},
            {"tables", Json::array()}};
  for (std::size_t rank = 0; rank < facts.ranks.size(); ++rank) json["per_rank"].push_back(rank_json(facts, rank));
  for (std::size_t t = 0; t < tables.size(); ++t)
    json["tables"].push_back(table_json(plan.tables[t], stored(tables[t], plan.tables[t]), plan.ranks));
  return json;
}

}  // namespace shardmark::placement
