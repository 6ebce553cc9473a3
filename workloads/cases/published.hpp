// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shardmark::workloads {

/// Is what others published of a workload: the time of a whole step, its dense part included.
struct PublishedStep {
  std::string machine;  ///< comm/placement/machines/NAME.json describes it, and what they ran on it
  int ranks = 0;
  std::string plan;  ///< a planner that makes the plan that they used
  double ms = 0.0;
  std::string source;
  bool ids_at_owners =
      false;                 ///< each rank was given the ids of its tables, of all samples: nothing is exchanged for it
  double evaluations = 0.0;  ///< batches that were evaluated in the time of a step: forward passes besides
  bool used = false;         ///< to choose a constant of the machine: no hold-out
  std::vector<std::string> settings = {};  ///< KEY=VALUE of the options that it ran with, as of --set
};

/// Is what others published of a lookup: the time of its forward, backward and update in a benchmark of embeddings
/// alone.
struct PublishedLookup {
  double us = 0.0;
  double counted_iterations = 1.0;  ///< whose flops the published accounting divides by the time of one
  std::string source;
};

/// Compares two plans of one machine by their time ratio slow / fast.
struct PublishedRatio {
  std::string fast, slow;  ///< plan names
  double ratio = 0.0;      ///< to four digits
  std::string source;
};

/// Returns the ratio of the first two steps on the same ranks of the same machine under different plans, if there are
/// such.
std::optional<PublishedRatio> published_ratio(std::span<const PublishedStep> steps);

}  // namespace shardmark::workloads
