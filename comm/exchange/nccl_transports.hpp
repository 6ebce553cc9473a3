// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.hpp"

namespace shardmark::comm {

/// Is a connection that NCCL has made, by which one rank sends to another: "P2P/CUMEM/read", "SHM/direct/direct",
/// "NET/IB/GDRDMA".
struct NcclChannel {
  int from = 0, to = 0;
  std::string transport;

  auto operator<=>(const NcclChannel&) const = default;
};

/// Finds the connections in what NCCL writes with NCCL_DEBUG=INFO ("... Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM"),
/// each once, without the numbers of devices. Of NET it takes the lines of senders.
std::vector<NcclChannel> nccl_channels(std::string_view log);

/// Counts the ordered pairs of ranks that send by one transport, in a node or between nodes.
struct NcclTransport {
  std::string name;
  bool between_nodes = false;
  std::int64_t pairs = 0;

  bool operator==(const NcclTransport&) const = default;
};

/// Lets every rank send a word to every other by exchange nccl, and returns by what NCCL says that it has sent them;
/// those of nodes first. Nothing where NCCL cannot be used, or where NCCL_DEBUG is set, which sends its lines
/// elsewhere. Must come before other uses of NCCL, which reads its variables once. Collective.
std::vector<NcclTransport> nccl_transports(const Communicator& comm);

}  // namespace shardmark::comm
