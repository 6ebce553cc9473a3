// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "workloads/step/flight.hpp"

namespace shardmark::workloads {

/// Of the tables of Storage::tt in a case.
struct TrainFacts {
  std::vector<std::string> directions;  ///< by table
  std::int64_t parameters = 0;          ///< elements of their cores
  double elements = 0.0;                ///< of the tables
  bool has_cache = false;
  TrainCounts counts;  ///< of a step, over all ranks
  CacheCounts cache;   ///< over all ranks, of the timed steps

  bool any() const { return !directions.empty(); }
};

/// After a step. Waits for the device, so not for timed steps. Collective.
TrainFacts train_facts(const comm::Communicator& comm, const Flight& flight, const ShardedTables& tables);
/// What is known of the caches now. Collective.
CacheCounts cache_counts(const comm::Communicator& comm, const ShardedTables& tables);
/// Adds what happened between two counts to `sum`; differences that are kept are as many as there are now.
void add_since(const CacheCounts& before, const CacheCounts& now, CacheCounts& sum);

/// The object tensor_train of a record (results/tensor_train_fields.hpp). ms: median times of lookup and update
/// together, and of the whole step.
nlohmann::ordered_json train_details(const TrainFacts& facts, double lookup_and_update_ms, double step_ms,
                                     bool is_fbtt);

}  // namespace shardmark::workloads
