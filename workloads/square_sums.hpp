// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "comm/exchange/exchange.hpp"
#include "comm/placement/plan.hpp"
#include "kernels/unique_rows.hpp"
#include "workloads/execution.hpp"
#include "workloads/shard_layout.hpp"

namespace shardmark {

/// Row-wise Adagrad of a table that is split by columns needs the mean of g^2 over whole rows. The holders of the
/// columns of the same rows received the same ids in the same order, so they have the same distinct rows: each sends
/// its partial sums to the others and adds all of them in the order of the columns. So the state, and the result, are
/// those of the unsharded table. (TorchRec keeps one state per column shard instead, which is another optimizer.)
class SquareSums {
 public:
  /// Throws InputError when a table needs this and its column ranges are not split into the same rows.
  SquareSums(const Communicator& comm, Exchange& exchange, const Plan& plan, const std::vector<Table>& tables,
             const ShardLayout& layout);

  /// Whether any table of the plan, on any rank, needs whole-row sums.
  bool needed() const { return needed_; }

  /// Replaces the partial sums of this rank's distinct rows by those over whole rows. Collective. Returns the bytes
  /// sent to other ranks. `peak` bounds the rows that any rank holds in a step.
  std::int64_t complete(const kernels::UniqueRows<Execution>& unique, const DeviceArray<double>& sums,
                        std::int64_t peak);

 private:
  /// One column range of some rows of a table, by column; `own` is the local shard if this rank holds it, else -1.
  struct Member {
    int rank;
    std::int64_t own;
  };
  using Group = std::vector<Member>;

  /// The sums of one local shard to or from the holder of other columns.
  struct Message {
    std::int64_t own;
    int peer;
    std::int64_t at;  ///< within what goes to or comes from the peer
  };
  struct Messages {
    std::vector<Message> sent;
    std::map<std::pair<std::int64_t, std::size_t>, Message> received;  ///< by local shard and number of the sender
    Route route;
  };

  Messages messages(const std::vector<std::int64_t>& begins, std::int64_t peak) const;
  std::vector<std::int64_t> segments(const kernels::UniqueRows<Execution>& unique) const;

  const Communicator& comm_;
  Exchange& exchange_;
  const ShardLayout& layout_;
  bool needed_ = false;
  std::vector<Group> groups_;  ///< those in which this rank has a part
  std::size_t most_members_ = 1;
  ConstDeviceArray<std::int64_t> first_keys_;
  DeviceScratch<double> send_{"shardmark::square_sums_sent"}, receive_{"shardmark::square_sums_received"};
};

}  // namespace shardmark
