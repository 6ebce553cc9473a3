// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "workloads/step/pipeline/ticket_book.hpp"

namespace shardmark::workloads {

/// Counts how often each small number occurred.
class Histogram {
 public:
  void add(std::int64_t value) {
    if (value >= std::ssize(counts_)) counts_.resize(static_cast<std::size_t>(value) + 1);
    ++counts_[value];
  }

  /// Returns the counts by value.
  const std::vector<std::int64_t>& counts() const { return counts_; }
  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const std::int64_t count : counts_) sum += count;
    return sum;
  }
  std::int64_t largest() const { return std::max<std::int64_t>(0, std::ssize(counts_) - 1); }
  double mean() const {
    double sum = 0.0;
    for (std::size_t v = 0; v < counts_.size(); ++v) sum += static_cast<double>(v) * static_cast<double>(counts_[v]);
    return counts_.empty() ? 0.0 : sum / static_cast<double>(total());
  }
  /// Returns the least value that is not exceeded by `share` of all.
  std::int64_t quantile(double share) const {
    const auto wanted = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(total())));
    std::int64_t below = 0;
    for (std::size_t v = 0; v < counts_.size(); ++v) {
      below += counts_[v];
      if (below >= wanted) return static_cast<std::int64_t>(v);
    }
    return largest();
  }
  Histogram& operator+=(const Histogram& other) {
    counts_.resize(std::max(counts_.size(), other.counts_.size()));
    for (std::size_t v = 0; v < other.counts_.size(); ++v) counts_[v] += other.counts_[v];
    return *this;
  }

 private:
  std::vector<std::int64_t> counts_;
};

/// Holds what a pipeline counted on this rank.
struct PipelineCounts {
  std::int64_t steps = 0, prepared = 0;  ///< steps that were taken; batches that were prepared
  std::int64_t overtaking = 0;           ///< steps that took a batch before an older one
  Histogram staleness;                   ///< by step: own updates that its rows lack, before any patch
  Histogram depth;                       ///< by step: prepared batches when it asks for its own
  std::array<double, ahead_stages> work_seconds{}, wait_seconds{};  ///< of the threads, by AheadStage
  double starved_seconds = 0.0;                                     ///< steps waited for their batch
  double held_seconds = 0.0;                                        ///< updates waited for a lookup

  PipelineCounts& operator+=(const PipelineCounts& other) {
    steps += other.steps;
    prepared += other.prepared;
    overtaking += other.overtaking;
    staleness += other.staleness;
    depth += other.depth;
    for (std::size_t s = 0; s < ahead_stages; ++s) {
      work_seconds[s] += other.work_seconds[s];
      wait_seconds[s] += other.wait_seconds[s];
    }
    starved_seconds += other.starved_seconds;
    held_seconds += other.held_seconds;
    return *this;
  }
};

/// Returns the steps per second that T threads allow: min(T / t_lookup, 1 / t_main) of the seconds that a thread takes
/// to prepare a batch and a step takes with it (DeepRec's rule, which requires T >= t_lookup / t_main). Without threads
/// one thread does both, one after the other.
inline double predicted_rate(std::int64_t threads, double lookup_seconds, double main_seconds) {
  if (threads == 0) return 1.0 / (lookup_seconds + main_seconds);
  return std::min(static_cast<double>(threads) / lookup_seconds, 1.0 / main_seconds);
}

/// Returns the fewest threads that keep the steps fed: t_lookup / t_main, rounded up, within [1, most].
inline std::int64_t threads_needed(double lookup_seconds, double main_seconds, std::int64_t most) {
  if (!(main_seconds > 0.0)) return most;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(lookup_seconds / main_seconds)), 1, most);
}

}  // namespace shardmark::workloads
