// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace shardmark::comm {

/// Holds memory that the ranks of a node read and write by loads and stores (MPI_Win_allocate_shared): a part for each
/// of them, all parts within one address range of every rank.
class NodeMemory {
 public:
  /// Makes the communicator of the node, without memory yet. Collective over `comm`.
  explicit NodeMemory(const Communicator& comm) : node_(ranks_of_node(comm)) {}
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;
  ~NodeMemory();

  /// Returns why these ranks cannot use shared memory, or an empty string, after it has tried to allocate some: some
  /// MPIs share no memory between the ranks of a node, or not in this container. Collective.
  static std::string unusable(const Communicator& comm);

  /// Makes room for `bytes` in this rank's part. Where the part of some rank is too small, all ranks of the node
  /// allocate new memory together, with an eighth to spare, and all return true; else it returns false. Old contents do
  /// not survive. Collective over the node. Throws MpiError.
  bool resize(std::int64_t bytes);

  /// Returns the ranks of the node; part() returns the part of one of them by its number there, which begins on a pair
  /// of cache lines.
  const Communicator& node() const { return node_; }
  std::byte* part(int number) const { return parts_[number]; }

  /// Waits for all ranks of the node (a barrier): after it, each rank sees what the others stored before it.
  void node_barrier();

 private:
  struct Header;
  Header& header(int number) const;

  Communicator node_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::int64_t room_ = -1;
  std::vector<std::byte*> parts_;
  std::uint64_t barriers_ = 0;
};

/// Loads a count in such memory, which one rank raises by show() and others read (acquire and release): a rank that
/// sees a value also sees what was stored before it.
std::uint64_t seen(std::uint64_t& count);
void show(std::uint64_t& count, std::uint64_t value);

}  // namespace shardmark::comm
