// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace shardmark::comm {

/// A Communicator is a group of ranks that communicate among themselves: a duplicate of the given MPI communicator, so
/// that no message of ours is matched with one of another library, and the map of ranks to nodes. Failing MPI calls
/// throw MpiError. All constructors and collective functions must be called by every rank of the group.
class Communicator {
 public:
  /// `count_limit` is the largest count that one MPI call may be given; larger messages go in pieces. Tests lower it so
  /// that small data take the path of more than 2^31 elements, and simulate several nodes by `leaders`, the lowest rank
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

  /// Returns the number of nodes. A node is a set of ranks that share memory (MPI_COMM_TYPE_SHARED); nodes are numbered
  /// in the order of their lowest ranks.
  int nodes() const { return static_cast<int>(ranks_of_.size()); }
  int node_of(int rank) const { return node_of_.at(rank); }
  const std::vector<int>& node_of() const { return node_of_; }  ///< of each rank
  /// Returns the number of this rank among the ranks of its node; node_size() returns how many they are.
  int node_rank() const { return node_rank_; }
  int node_size() const { return static_cast<int>(ranks_of(node_of(rank_)).size()); }
  /// Returns the ranks of a node, ascending.
  const std::vector<int>& ranks_of(int node) const { return ranks_of_.at(node); }
  /// Returns MPI's processor name of a rank.
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

/// Returns a communicator of the ranks of this rank's node. Collective over `comm`.
Communicator ranks_of_node(const Communicator& comm);

/// Returns the node of each rank, given the lowest rank of each rank's node: {0, 0, 2, 0, 2} gives {0, 0, 1, 0, 1}.
std::vector<int> number_nodes(std::span<const int> leaders);

}  // namespace shardmark::comm
