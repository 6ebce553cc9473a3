// SPDX-License-Identifier: Apache-2.0
#include "comm/communicator.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "comm/collectives.hpp"
#include "comm/mpi_error.hpp"

namespace shardmark::comm {
namespace {

std::string processor_name() {
  char name[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  check_mpi(MPI_Get_processor_name(name, &length), "MPI_Get_processor_name");
  return std::string(name, length);
}

int lowest_rank_of_node(MPI_Comm comm, int rank) {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  int lowest = rank;
  check_mpi(MPI_Bcast(&lowest, 1, MPI_INT, 0, node), "MPI_Bcast");
  check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
  return lowest;
}

}  // namespace

std::vector<int> number_nodes(std::span<const int> leaders) {
  std::vector<int> node_of(leaders.size());
  int nodes = 0;
  for (std::size_t rank = 0; rank < leaders.size(); ++rank) {
    const std::size_t leader = leaders[rank];
    node_of[rank] = leader == rank ? nodes++ : node_of[leader];
  }
  return node_of;
}

Communicator::Communicator(MPI_Comm parent, std::int64_t count_limit, std::vector<int> leaders)
    : count_limit_(count_limit) {
  check_mpi(MPI_Comm_dup(parent, &comm_), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  hosts_ = all_gather(*this, processor_name());
  set_nodes(leaders.empty() ? all_gather(*this, lowest_rank_of_node(comm_, rank_)) : leaders);
}

void Communicator::set_nodes(std::span<const int> leaders) {
  node_of_ = number_nodes(leaders);
  ranks_of_.resize(std::ranges::max(node_of_) + 1);
  for (int rank = 0; rank < size_; ++rank) ranks_of_[node_of(rank)].push_back(rank);
  node_rank_ = static_cast<int>(std::ranges::find(ranks_of(node_of(rank_)), rank_) - ranks_of(node_of(rank_)).begin());
}

Communicator::Communicator(Communicator&& other) noexcept { *this = std::move(other); }

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  std::swap(comm_, other.comm_);
  count_limit_ = other.count_limit_;
  rank_ = other.rank_;
  size_ = other.size_;
  node_rank_ = other.node_rank_;
  node_of_.swap(other.node_of_);
  ranks_of_.swap(other.ranks_of_);
  hosts_.swap(other.hosts_);
  return *this;
}

Communicator::~Communicator() {
  // MPI_Comm_free is collective: a rank that unwinds alone must not wait in it, or its error is never reported.
  if (comm_ != MPI_COMM_NULL && std::uncaught_exceptions() == 0) MPI_Comm_free(&comm_);
}

Communicator ranks_of_node(const Communicator& comm) {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(comm.get(), comm.node_of(comm.rank()), comm.rank(), &node), "MPI_Comm_split");
  Communicator ranks(node);
  MPI_Comm_free(&node);
  return ranks;
}

}  // namespace shardmark::comm
