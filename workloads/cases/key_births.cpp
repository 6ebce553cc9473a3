// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/key_births.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workloads/cases/placement_inputs.hpp"

namespace shardmark::workloads {

std::int64_t KeyBirths::most_keys(std::int64_t batches) const {
  if (life == 0) return expected + batches * fresh;
  const double died = static_cast<double>(expected) * static_cast<double>(batches) / static_cast<double>(life);
  return expected + static_cast<std::int64_t>(died + 8.0 * std::sqrt(died)) + 32;  // lives begin at random
}

std::int64_t places_of_sample(const Workload& workload, const Feature& feature) {
  return (workload.ids.ragged ? 2 : 1) * feature.hotness;
}

KeyBirths births_of(const Workload& workload, std::int64_t table) {
  const Table& of = workload.tables[table];
  KeyBirths births{.expected = of.rows};
  if (!of.any_key) return births;
  std::int64_t ids = 0;
  for (const Feature& feature : workload.features)
    if (feature.table == table) {
      births.places += workload.global_batch * places_of_sample(workload, feature);
      ids += workload.global_batch * feature.hotness;
    }
  const placement::IdStatistics law = id_statistics_of(workload.ids);
  // Of the places of ragged bags half have an id.
  births.fresh = static_cast<std::int64_t>(
      law.fresh_keys(static_cast<double>(ids), static_cast<double>(births.expected)) * (law.ragged ? 2.0 : 1.0));
  births.life = static_cast<std::int64_t>(law.life);
  return births;
}

void check_births(const Workload& workload) {
  const bool born = workload.ids.fresh > 0.0, die = workload.ids.half_life > 0;
  if (!born && !die) return;
  if (born && die)
    throw InputError("ids.new and ids.half_life are both given; keys that die are followed by new ones: leave one out");
  if (!has_any_keys(workload.tables))
    throw InputError(
        fmt::format("ids.{}: the keys of all tables are their rows; give \"rows\": -1 and \"keys\" in the "
                    "spec of a table of storage dynamic",
                    born ? "new" : "half_life"));
}

}  // namespace shardmark::workloads
