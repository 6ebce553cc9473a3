// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace shardmark::comm {

/// Memory that the ranks of a node read and write by loads and stores (MPI_Win_allocate_shared): a part for each of
/// them, all parts within one range of every rank's addresses.
class NodeMemory {
 public:
  /// Collective over `comm`.
  explicit NodeMemory(const Communicator& comm) : node_(ranks_of_node(comm)) {}
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;
  ~NodeMemory();

  /// Tries: some MPIs share no memory between the ranks of a node, or not in this container. Collective.
  static std::string unusable(const Communicator& comm);

  /// Makes room for `bytes` in this rank's part; returns whether memory was made anew, by all together, because some
  /// part was too small, and with an eighth to spare. New memory holds nothing. Collective over the node. Throws
  /// MpiError.
  bool resize(std::int64_t bytes);

  /// The ranks of the node, and the part of one of them by its number there, which begins with a pair of cache lines.
  const Communicator& node() const { return node_; }
  std::byte* part(int number) const { return parts_[number]; }

  /// Returns when all ranks of the node have called it; what each stored before, the others see behind it.
  void meet();

 private:
  struct Header;
  Header& header(int number) const;

  Communicator node_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::int64_t room_ = -1;
  std::vector<std::byte*> parts_;
  std::uint64_t meetings_ = 0;
};

/// A count in such memory that one rank raises and others look at: who sees it sees what was stored before.
std::uint64_t seen(std::uint64_t& count);
void show(std::uint64_t& count, std::uint64_t value);

}  // namespace shardmark::comm
