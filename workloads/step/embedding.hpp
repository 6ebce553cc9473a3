// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "comm/exchange/progress_thread.hpp"
#include "comm/placement/traffic/decisions.hpp"
#include "workloads/cases/case.hpp"
#include "workloads/cases/fault.hpp"
#include "workloads/tables/sharded_tables.hpp"
#include "workloads/transfer/wire.hpp"

namespace shardmark::workloads {

/// Holds the tables of a case that travel together, one group of them or all, and what no batch changes about them.
struct Group {
  const comm::Communicator& comm;
  comm::ProgressThread& progress;
  Wire& wire;
  ShardedTables& tables;
  const placement::Plan& plan;
  const Case& config;
  ShardLayout layout;                         ///< of the group's features
  std::vector<placement::RowTransfer> modes;  ///< what travels of each strip
  placement::Dedup dedup;                     ///< of strips whose rows travel one by one
  const std::vector<bool>& gathered;          ///< replicated tables whose touched rows are gathered, by table
  std::unique_ptr<comm::Exchange> exchange;
  std::string_view reduction;      ///< of the exchange (ExchangeChoice), or of the one that it stands for on GPUs
  bool counts_follow_ids = false;  ///< how many vectors travel depends on the ids, not on the number of bags alone
  bool own_stays = false;          ///< what a rank sends to itself lies where it is received (VectorPlaces::stays)
  bool at_home = false;            ///< owners write vectors and read gradients at their homes (may_lie_at_home())
};

/// Holds the embeddings of a case on this rank: which groups of tables there are, how they travel, and on which
/// progress thread. Nothing here changes while the case runs; what one batch makes belongs to a Flight. Values are the
/// same for any groups.
class Embedding {
 public:
  /// Makes the groups. `comm`, `tables` and `plan` must outlive the object. decided: what the movement leaves open
  /// (decide.hpp). Collective. Throws InputError when the movement cannot carry the plan.
  Embedding(const comm::Communicator& comm, ShardedTables& tables, const placement::Plan& plan, const Case& config,
            const placement::Decisions& decided, Fault fault = Fault::none);

  std::int64_t groups() const { return std::ssize(groups_); }
  const Group& group(std::int64_t number) const { return *groups_[number]; }
  /// Returns the group whose features read a table.
  std::int64_t group_of_table(std::int64_t table) const { return group_of_table_[table]; }

  /// Returns the reduction of the exchange in effect (ExchangeChoice); empty: MPI's.
  std::string_view reduction() const { return reduction_; }
  /// Returns whether exchanges follow the stream of the kernels.
  bool follows_kernels() const { return group(0).exchange->follows(); }

  const comm::Communicator& comm() const { return comm_; }
  const Case& config() const { return config_; }
  comm::ProgressThread& progress() { return progress_; }
  ShardedTables& tables() { return tables_; }
  Fault fault() const { return fault_; }

  /// Returns the types in which rows travel, and their errors.
  Wire& wire() { return wire_; }

  /// Returns what an exchange that chooses among others chose (Exchange::picked()), of each group that differs, and
  /// whether vectors lie at home beside it. Collective.
  std::string picked() const;
  /// Returns what dedup auto chose for rows that travel one by one; empty for other dedups or without such rows.
  std::string picked_dedup() const;

 private:
  const comm::Communicator& comm_;
  ShardedTables& tables_;
  Case config_;
  placement::Decisions decided_;
  Fault fault_;
  Wire wire_;
  std::string_view reduction_;
  std::vector<std::int64_t> group_of_table_;
  std::vector<std::unique_ptr<Group>> groups_;
  comm::ProgressThread progress_;  ///< its thread ends before what it uses
};

}  // namespace shardmark::workloads
