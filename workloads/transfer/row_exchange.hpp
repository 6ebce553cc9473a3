// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "comm/exchange/exchange.hpp"
#include "kernels/wire/wire_codec.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/transfer/wire.hpp"

namespace shardmark::workloads {

/// Describes `rows` vectors of `dim` floats that travel between this rank and `peer`.
struct RowBlock {
  int peer = 0;
  std::int64_t rows = 0;
  std::int64_t dim = 0;
};

/// Lists all vectors that travel between this rank and the others, in the order in which they lie in the buffers
/// without gaps, by peer. What is the owner's block for a home is the home's block from that owner: both ends list the
/// same ones.
struct RowBlocks {
  std::vector<RowBlock> owner, home;
  /// These bound the rows and elements that any rank has in either list; the same on all ranks.
  std::int64_t row_bound = 0, element_bound = 0;
};

/// Sends vectors of blocks that are known at both ends, from their owners to the homes of the samples and back, in a
/// wire type for each direction. A rank's blocks for itself are encoded like all others, so that results do not depend
/// on who owns what. fp32 is sent as it is, without a copy.
class RowExchange {
 public:
  /// All outlive the object.
  RowExchange(comm::Exchange& exchange, Wire& wire) : exchange_(exchange), wire_(wire) {}

  void lay_out(int ranks, const RowBlocks& blocks);

  /// Moves the vectors of one direction: encodes them, exchanges and decodes. `from` and `to` are the owner's and the
  /// home's buffer when forward, the home's and the owner's when backward. Collective.
  void move(Direction direction, const DeviceArray<float>& from, const DeviceArray<float>& to);

  /// Returns the floats of all blocks at the owner.
  std::int64_t owner_elements() const { return owner_.elements; }

 private:
  /// Holds the blocks of one end as the codec takes them.
  struct End {
    std::int64_t elements = 0, rows = 0;
    std::array<HostList<kernels::WireBlock>, 2> blocks;  ///< by direction: their places on the wire differ
    std::array<std::int64_t, 2> wire_bytes{};
  };

  void list(const std::vector<RowBlock>& blocks, End& end) const;
  void encode(Direction direction, const DeviceArray<float>& from);
  const End& sender(Direction direction) const { return direction == Direction::forward ? owner_ : home_; }
  const End& receiver(Direction direction) const { return direction == Direction::forward ? home_ : owner_; }
  bool direct(Direction direction) const { return wire_.type(direction) == ValueType::fp32; }

  comm::Exchange& exchange_;
  Wire& wire_;
  End owner_, home_;
  std::array<comm::Route, 2> routes_;  ///< by direction, in units of the wire type
  DeviceScratch<char> sent_scratch_{"shardmark::wire_sent"}, received_scratch_{"shardmark::wire_received"};
  DeviceArray<char> sent_, received_;  ///< of the direction in progress, unless it is fp32
  DeviceScratch<float> decoded_{"shardmark::wire_decoded"};
};

}  // namespace shardmark::workloads
