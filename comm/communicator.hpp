// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace shardmark::comm {

/// A group of ranks that talk among themselves: a duplicate of the given MPI communicator, so that no message of ours
/// meets one of another library, and the map of ranks to nodes. Failing MPI calls throw MpiError.
/// All constructors and collective functions must be called by every rank of the group.
class Communicator {
 public:
  /// `count_limit` is the largest count that one MPI call may be given; larger messages go in pieces. Tests lower it so
  /// that small data take the path of more than 2^31 elements, and pretend several nodes by `leaders`, the lowest rank
  /// of each rank's node.
  explicit Communicator(MPI_Comm parent, std::int64_t count_limit = std::numeric_limits<int>::max(),
                        std::vector<int> leaders = {});
  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&& other) noexcept;
  ~Communicator();

  MPI_Comm get() const { return comm_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  std::int64_t count_limit() const { return count_limit_; }

  /// Nodes: sets of ranks that share memory (MPI_COMM_TYPE_SHARED), numbered in the order of their lowest ranks.
  int nodes() const { return static_cast<int>(ranks_of_.size()); }
  int node_of(int rank) const { return node_of_.at(rank); }
  /// Number of this rank among the ranks of its node, and how many they are.
  int node_rank() const { return node_rank_; }
  int node_size() const { return static_cast<int>(ranks_of(node_of(rank_)).size()); }
  /// Ascending.
  const std::vector<int>& ranks_of(int node) const { return ranks_of_.at(node); }
  /// MPI's processor name of a rank.
  const std::string& host_of(int rank) const { return hosts_.at(rank); }

 private:
  void set_nodes(std::span<const int> leaders);

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::int64_t count_limit_ = 0;
  int rank_ = 0;
  int size_ = 1;
  int node_rank_ = 0;
  std::vector<int> node_of_;
  std::vector<std::vector<int>> ranks_of_;
  std::vector<std::string> hosts_;
};

/// Those of this rank's node, as a communicator of their own. Collective over `comm`.
Communicator ranks_of_node(const Communicator& comm);

/// Node of each rank, given the lowest rank of each rank's node: {0, 0, 2, 0, 2} gives {0, 0, 1, 0, 1}.
std::vector<int> number_nodes(std::span<const int> leaders);

}  // namespace shardmark::comm
