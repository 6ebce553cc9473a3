// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "comm/communicator.hpp"

namespace shardmark::workloads {

/// Bytes that the ranks of this rank's node may still take together: memory_available() where the node has its kernel
/// to itself. Nodes that share a kernel, such as containers on one host, each get an even part of what it has left.
/// Collective.
std::int64_t memory_of_node(const comm::Communicator& comm);

}  // namespace shardmark::workloads
