// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/train_record.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "comm/collectives.hpp"
#include "results/tensor_train_fields.hpp"

namespace shardmark::workloads {
namespace {

namespace fields = results::tensor_train_fields;

double to_four_places(double value) { return std::round(1e4 * value) / 1e4; }

double per(double over, double under) { return under > 0.0 ? to_four_places(over / under) : 0.0; }

TrainCounts over_all_ranks(const comm::Communicator& comm, const TrainCounts& own) {
  std::array<std::int64_t, TensorTrainShape::most_cores + 4> sums{own.ids, own.rows, own.nominal_flops,
                                                                  own.executed_flops};
  std::ranges::copy(own.prefixes, sums.begin() + 4);
  comm::all_reduce(comm, std::span<std::int64_t>(sums), comm::Reduce::sum);
  TrainCounts all{.ids = sums[0], .rows = sums[1], .nominal_flops = sums[2], .executed_flops = sums[3]};
  std::copy(sums.begin() + 4, sums.end(), all.prefixes.begin());
  return all;
}

/// One name where all tables share it.
nlohmann::ordered_json direction_of(const std::vector<std::string>& directions) {
  if (std::ranges::count(directions, directions.front()) == std::ssize(directions)) return directions.front();
  return directions;
}

/// From the first two cores on.
std::vector<std::int64_t> products_of(const PrefixCounts& prefixes) {
  std::vector<std::int64_t> products;
  for (std::size_t t = 1; t < prefixes.size() && prefixes[t] > 0; ++t) products.push_back(prefixes[t]);
  return products;
}

nlohmann::ordered_json cache_details(const CacheCounts& counts) {
  const std::int64_t lookups = counts.hits + counts.stale + counts.misses;
  return {{fields::hits, counts.hits},
          {fields::stale, counts.stale},
          {fields::misses, counts.misses},
          {fields::drops, counts.drops},
          {fields::evictions, counts.evictions},
          {fields::hit_rate, per(static_cast<double>(counts.hits), static_cast<double>(lookups))},
          {fields::kept_differences, counts.kept_differences}};
}

}  // namespace

CacheCounts cache_counts(const comm::Communicator& comm, const ShardedTables& tables) {
  const CacheCounts own = tables.cache_counts();
  std::array sums{own.hits, own.stale, own.misses, own.drops, own.evictions, own.kept_differences};
  comm::all_reduce(comm, std::span<std::int64_t>(sums), comm::Reduce::sum);
  return {{.hits = sums[0], .stale = sums[1], .misses = sums[2], .drops = sums[3], .evictions = sums[4]}, sums[5]};
}

void add_since(const CacheCounts& before, const CacheCounts& now, CacheCounts& sum) {
  sum.hits += now.hits - before.hits;
  sum.stale += now.stale - before.stale;
  sum.misses += now.misses - before.misses;
  sum.drops += now.drops - before.drops;
  sum.evictions += now.evictions - before.evictions;
  sum.kept_differences = now.kept_differences;
}

TrainFacts train_facts(const comm::Communicator& comm, const Flight& flight, const ShardedTables& tables) {
  TrainFacts facts;
  for (const Table& table : tables.tables()) {
    if (table.storage != Storage::tt) continue;
    const bool suffix = table.tensor_train.direction == ContractionDirection::suffix;
    facts.directions.emplace_back(name_of(suffix ? ContractionDirection::suffix : ContractionDirection::prefix));
    facts.parameters += tensor_train_shape(table).parameters();
    facts.elements += static_cast<double>(table.rows) * static_cast<double>(table.dim);
    facts.has_cache |= table.tensor_train.cache.rows > 0;
  }
  if (facts.any()) facts.counts = over_all_ranks(comm, flight.train_counts());
  return facts;
}

nlohmann::ordered_json train_details(const TrainFacts& facts, double lookup_and_update_ms, double step_ms,
                                     bool is_fbtt) {
  constexpr double published_us_per_lookup = 0.416;  // FBTT-Embedding: 4.26 ms for an iteration of 10,240 lookups
  constexpr double too_high = 10.0;  // its benchmark counts the flops of ten iterations, and the time of one
  const auto lookups = static_cast<double>(facts.counts.ids);
  const double nominal = per(1e-6 * static_cast<double>(facts.counts.nominal_flops), lookup_and_update_ms);
  nlohmann::ordered_json details{
      {fields::tables, facts.directions.size()},
      {fields::parameters, facts.parameters},
      {fields::compression, per(facts.elements, static_cast<double>(facts.parameters))},
      {fields::direction, direction_of(facts.directions)},
      {fields::lookups, facts.counts.ids},
      {fields::rows, facts.counts.rows},
      {fields::prefixes, products_of(facts.counts.prefixes)},
      {fields::nominal_flops, facts.counts.nominal_flops},
      {fields::executed_flops, facts.counts.executed_flops},
      {fields::us_per_lookup, per(1e3 * lookup_and_update_ms, lookups)},
      {fields::us_per_lookup_of_step, per(1e3 * step_ms, lookups)},
      {fields::nominal_gflops, nominal},
      {fields::executed_gflops, per(1e-6 * static_cast<double>(facts.counts.executed_flops), lookup_and_update_ms)}};
  if (is_fbtt) {
    details[fields::fbtt_printed_gflops] = too_high * nominal;
    details[fields::fbtt_published_us_per_lookup] = published_us_per_lookup;
  }
  if (facts.has_cache) details[fields::cache] = cache_details(facts.cache);
  return details;
}

}  // namespace shardmark::workloads
