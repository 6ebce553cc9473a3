// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/exchange/exchange.hpp"
#include "comm/placement/plan.hpp"
#include "kernels/sort/shard_segments.hpp"
#include "kernels/update/row_sums.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/tables/shard_layout.hpp"

namespace shardmark::workloads {

/// Completes sums over whole rows, which some optimizers take (row-wise Adagrad and Adam: of g^2; LAMB: of w^2 and
/// r^2), when a table is split by columns. The holders of the columns of the same rows received the same ids in the
/// same order, so they have the same distinct rows: each sends its partial sums to the others and adds all of them in
/// the order of the columns. So the state, and the result, are those of the unsharded table. (TorchRec keeps one state
/// per column shard instead, which is another optimizer.)
class RowSumExchange {
 public:
  /// Throws InputError when a table needs this and its column ranges are not split into the same rows.
  RowSumExchange(const comm::Communicator& comm, comm::Exchange& exchange, const placement::Plan& plan,
                 const std::vector<Table>& tables, const std::vector<Feature>& features, const ShardLayout& layout);

  /// Returns the number of sums per row, the most that any table of the plan needs, on any rank; 0 when no table that
  /// the layout serves needs any.
  std::int64_t width() const { return width_; }

  /// Replaces the partial sums [distinct rows, width] of this rank by those over whole rows. Collective. No rank holds
  /// more than `bound` rows in a step.
  void complete(const kernels::UniqueRows<Execution>& unique, const DeviceArray<double>& sums, std::int64_t bound);

 private:
  /// Is one column range of some rows of a table, by column; `own` is the local shard if this rank holds it, else -1.
  struct Member {
    int rank;
    std::int64_t own;
  };
  using Group = std::vector<Member>;

  /// Describes the sums of one local shard to or from the holder of other columns.
  struct Message {
    static constexpr int stays = -1;  ///< peer of the sums that the shard itself adds to those which it receives
    std::int64_t own;
    int peer;
    std::int64_t term = 0;  ///< of those that are received: place in terms_
    std::int64_t at = 0;    ///< in the current step, within what goes to or comes from the peer
  };
  /// Describes the sums over whole rows of a local shard: they are those of terms_ [first, first + count), in the order
  /// of the columns.
  struct Whole {
    std::int64_t own, first, count;
  };

  void list_messages(const Group& group);
  comm::Route place(const std::vector<std::int64_t>& begins, std::int64_t bound);

  const comm::Communicator& comm_;
  comm::Exchange& exchange_;
  std::int64_t width_ = 0;
  std::vector<Message> sent_, received_;
  std::vector<Whole> wholes_;
  HostList<kernels::RowSumTerms> terms_;
  std::size_t most_members_ = 1;
  kernels::ShardSegments<Execution> segments_;
  DeviceScratch<double> send_scratch_{"shardmark::row_sums_sent"}, receive_scratch_{"shardmark::row_sums_received"};
};

}  // namespace shardmark::workloads
