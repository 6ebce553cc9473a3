// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "comm/communicator.hpp"
#include "comm/exchange/exchange.hpp"
#include "comm/exchange/lane.hpp"
#include "comm/exchange/sent_bytes.hpp"
#include "comm/placement/traffic.hpp"
#include "workloads/transfer/vector_places.hpp"
#include "workloads/transfer/wire.hpp"

namespace shardmark {

/// What travels between the owners of rows and the homes of samples. A transfer first says where the vectors lie, then
/// moves them: pooled vectors (partial sums, where rows are split) home, and their gradients back to the owners.
class Transfer {
 public:
  virtual ~Transfer() = default;

  /// Called when the counts change. modes: by strip. Throws InputError when the plan cannot be carried this way.
  virtual VectorPlaces lay_out(const ShardLayout& layout, const std::vector<RowTransfer>& modes, const BagCounts& bags,
                               const VectorCounts& counts) = 0;

  /// The parts of a way, called in this order: `from` and `to` are the owner's and the home's buffer, on the way back
  /// the home's and the owner's. pack and unpack run kernels and talk to nobody; move is collective and runs none.
  virtual void pack(Direction direction, const DeviceArray<float>& from) = 0;
  virtual void move(Direction direction, const DeviceArray<float>& from, const DeviceArray<float>& to) = 0;
  virtual void unpack(Direction direction, const DeviceArray<float>& to) = 0;
};

/// What a transfer is made with; all of it outlives the transfer.
struct TransferContext {
  const Communicator& comm;
  Lane& lane;
  Exchange& exchange;
  Wire& wire;
  SentBytes& sent;             ///< for what does not go by the exchange
  std::string_view name;       ///< of the transfer
  std::string_view reduction;  ///< of the table `reductions`: how it adds partial sums, where it does
};

struct TransferChoice {
  std::string_view name;
  std::string_view description;
  RowTransfer mode;
  std::unique_ptr<Transfer> (*make)(const TransferContext&);
  std::string_view reduction = {};  ///< of mode reduce_scatter: the entry of the table `reductions`
};

std::unique_ptr<Transfer> make_partials(const TransferContext& context);
std::unique_ptr<Transfer> make_reduce_scatter(const TransferContext& context);

/// They differ for row-split tables only; vectors of whole rows or columns always go by the exchange.
inline constexpr std::array transfers{
    TransferChoice{"dense_partials", "one partial sum per bag and shard by the exchange, added at home",
                   RowTransfer::dense_partials, make_partials},
    TransferChoice{"sparse_partials", "the same, only of bags that hold an id of the shard",
                   RowTransfer::sparse_partials, make_partials},
    TransferChoice{"unique_rows", "each row once to every rank that asks for it, pooled at home",
                   RowTransfer::unique_rows, make_partials},
    TransferChoice{"reduce_scatter", "partial sums added on the way (MPI_Reduce_scatter; gradients by MPI_Allgatherv)",
                   RowTransfer::reduce_scatter, make_reduce_scatter, "library"},
    TransferChoice{"reduce_scatter_pairwise", "the same by own rounds, in round k to rank+k and from rank-k, both ways",
                   RowTransfer::reduce_scatter, make_reduce_scatter, "pairwise"},
    TransferChoice{"reduce_scatter_halving", "the same by log P own rounds: halves of the sums, gradients doubled",
                   RowTransfer::reduce_scatter, make_reduce_scatter, "recursive_halving"},
    TransferChoice{"auto",
                   "of the first three, for each row split the one whose busiest rank sends least in the first batch",
                   RowTransfer::automatic, make_partials},
};

}  // namespace shardmark
