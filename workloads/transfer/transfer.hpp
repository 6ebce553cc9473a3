// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/exchange/exchange.hpp"
#include "comm/exchange/progress_thread.hpp"
#include "comm/exchange/sent_bytes.hpp"
#include "comm/placement/traffic/movement.hpp"
#include "comm/reduction/reductions.hpp"
#include "workloads/transfer/vector_route.hpp"
#include "workloads/transfer/wire.hpp"

namespace shardmark::workloads {

/// Moves data between the owners of rows and the homes of samples. A transfer first says where the vectors lie, then
/// moves them: pooled embeddings (partial sums, where rows are split) forward to their homes, and their gradients
/// backward to the owners.
class Transfer {
 public:
  virtual ~Transfer() = default;

  /// Returns where the vectors lie; called when the counts change. modes: by strip. Throws InputError when this
  /// transfer cannot carry the plan.
  virtual VectorPlaces lay_out(const ShardLayout& layout, const std::vector<placement::RowTransfer>& modes,
                               const BagCounts& bags, const VectorCounts& counts) = 0;

  /// Moves the vectors of one direction: `from` and `to` are the owner's and the home's buffer when forward, the home's
  /// and the owner's when backward. Collective.
  virtual void move(Direction direction, const DeviceArray<float>& from, const DeviceArray<float>& to) = 0;
};

/// Holds what a transfer is made with; all of it outlives the transfer.
struct TransferContext {
  const comm::Communicator& comm;
  comm::ProgressThread& progress;
  comm::Exchange& exchange;
  Wire& wire;
  comm::SentBytes& sent;                             ///< for what does not go by the exchange
  const std::vector<placement::RowTransfer>& modes;  ///< what travels of each strip
  placement::RowTransfer transfer;
  bool own_stays;              ///< what a rank sends to itself lies where it is received (VectorPlaces::stays)
  std::string_view reduction;  ///< of the exchange (ExchangeChoice), where the transfer leaves sums to a library
};

/// Runs a reduction, or starts it and waits where it follows the kernels' stream; a reduction that does not reads what
/// kernels have written. reduction: a comm::Reduction, or a comm::Nccl. reduce: calls its operation.
template <class Reduction, class Reduce>
void run_reduction(Reduction& reduction, comm::ProgressThread& progress, Reduce reduce) {
  if (reduction.follows()) {
    reduce();
    progress.run([] {});
    reduction.finish();
  } else {
    wait_for_kernels("shardmark: what is added between ranks is written");
    progress.run(reduce);
  }
}

std::unique_ptr<Transfer> make_partials(const TransferContext& context);
std::unique_ptr<Transfer> make_reduce_scatter(const TransferContext& context);
std::unique_ptr<Transfer> make_node_partials(const TransferContext& context);

/// Makes the entry of `transfers` (comm/placement/traffic/movement.hpp) that the context names; for auto, one that
/// moves all modes.
inline std::unique_ptr<Transfer> make_transfer(const TransferContext& context) {
  if (placement::adds_on_the_way(context.transfer)) return make_reduce_scatter(context);
  const bool by_node = std::ranges::count(context.modes, placement::RowTransfer::node_partials) > 0;
  return by_node ? make_node_partials(context) : make_partials(context);
}

}  // namespace shardmark::workloads
