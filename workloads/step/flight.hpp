// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/step/group_flight.hpp"
#include "workloads/step/phase.hpp"

namespace shardmark::workloads {

/// One step in flight of all groups of an embedding: what a batch makes, from its ids to the updated rows. An embedding
/// may have several.
class Flight {
 public:
  /// Collective. The embedding outlives the flight.
  explicit Flight(Embedding& embedding);

  Embedding& embedding() { return embedding_; }

  /// body(group's part, its number, clock) for every group, from phase `first` on; groups take turns while others
  /// communicate (comm's Lane). Collective.
  template <class Body>
  void each(PhaseCosts& costs, Phase first, const Body& body) {
    interleave(embedding_.lane(), costs, std::ssize(groups_), [&](std::int64_t group) {
      PhaseClock clock(costs, embedding_.lane(), first);
      body(*groups_[group], group, clock);
    });
  }

  /// What the batch makes of a group's tables.
  std::int64_t groups() const { return std::ssize(groups_); }
  GroupFlight& group(std::int64_t number) { return *groups_[number]; }

  /// Pooled outputs [bags, dim] of a feature for this rank's samples, from output_dist to the next input_dist.
  DeviceArray<float> output(const StepInput& input, std::int64_t feature) const;

  /// Where rows travel one by one, what dedup did to them.
  RowCounts row_counts() const;

  /// Bytes of memory that the lookup of the current step must read and write, every row that is used once; to be asked
  /// after the update. Sorts the ids, so not for timed steps.
  std::int64_t lookup_bytes();

  /// Adds to the numbers of a storage (StorageMaker::numbers) what the current step did in its tables; to be asked
  /// after the update.
  void report(Storage storage, std::span<std::int64_t> numbers) const;

  /// What this rank has sent in the current step, complete after it.
  comm::SentBytes sent() const;

 private:
  Embedding& embedding_;
  std::vector<std::unique_ptr<GroupFlight>> groups_;
};

}  // namespace shardmark::workloads
