// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "comm/communicator.hpp"
#include "workloads/step/pipeline/pipeline.hpp"

namespace shardmark::workloads {

/// Holds what the pipeline of a case did in its visits. Staleness is the same on all ranks; depths are this rank's;
/// seconds are those of the slowest rank, bytes those of the rank with most, vectors those of all ranks.
struct AsyncFacts {
  PipelineShape shape;
  Async config = {};
  std::vector<std::string> processing_units;  ///< by rank, of threads that are bound; empty where they are not
  PipelineCounts counts;
  PatchCounts patched;
  double main_seconds = 0.0;
  bool reads = false;  ///< whether batches are read as they are taken
  std::int64_t buffered_bytes = 0;

  bool any() const { return config.on(); }
  /// Return the seconds that a thread takes per batch, and the steps' thread per step.
  double prepare_seconds() const;
  double step_seconds() const;
};

/// Adds what the pipeline counted from its latest start. Collective.
void add_facts(const comm::Communicator& comm, const Pipeline& pipeline, AsyncFacts& facts);

/// Returns the object of a record (results/async_fields.hpp). step_ms: median of the measured steps.
nlohmann::ordered_json async_details(const AsyncFacts& facts, double step_ms);

}  // namespace shardmark::workloads
