// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/step/sharded_embedding.hpp"

namespace shardmark {

/// The embeddings of a case: one, or one per group of tables (table_groups.hpp), so that one group's lookup happens
/// while another's vectors travel. Values are the same for any groups.
class GroupedEmbedding {
 public:
  /// `comm`, `tables` and `plan` must outlive the object. Collective. Throws InputError when the movement cannot carry
  /// the plan.
  GroupedEmbedding(const Communicator& comm, ShardedTables& tables, const Plan& plan, const Movement& movement,
                   Fault fault = Fault::none);

  /// body(group, clock) for every group, interleaved (exchange/lane.hpp), from phase `first` on. Collective.
  template <class Body>
  void each(PhaseCosts& costs, Phase first, Body&& body) {
    lane_.interleave(groups(), [&](std::int64_t group) {
      PhaseClock clock(costs, lane_, first);
      body(*groups_[group], clock);
    });
  }

  std::int64_t groups() const { return std::ssize(groups_); }
  const Lane& lane() const { return lane_; }
  ShardedTables& tables() { return tables_; }

  /// Pooled outputs, see ShardedEmbedding.
  DeviceArray<float> output(const StepInput& input, std::int64_t feature) const;

  /// The types in which rows travel, and their errors.
  Wire& wire() { return wire_; }

  /// Of all groups, see ShardedEmbedding.
  RowCounts row_counts() const;

  std::int64_t lookup_bytes();

  /// Of the groups that differ, see ShardedEmbedding.
  std::string picked() const;
  std::string picked_dedup() const;

  /// What this rank has sent in the current step, complete after it.
  SentBytes sent() const;

 private:
  const Communicator& comm_;
  ShardedTables& tables_;
  Movement movement_;
  Wire wire_;
  std::vector<std::int64_t> group_of_table_;
  std::vector<std::unique_ptr<ShardedEmbedding>> groups_;
  Lane lane_;  ///< ends before what it uses
};

}  // namespace shardmark
