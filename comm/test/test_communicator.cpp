// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

#include "comm/collectives.hpp"
#include "comm/communicator.hpp"
#include "comm/messages.hpp"
#include "comm/mpi_error.hpp"

namespace shardmark::comm {
namespace {

static_assert(!std::is_copy_constructible_v<Communicator>);
static_assert(std::is_nothrow_move_constructible_v<Communicator>);

TEST(Communicator, IsADuplicateOfItsParent) {
  const Communicator comm(MPI_COMM_WORLD);
  int result = MPI_UNEQUAL;
  MPI_Comm_compare(comm.get(), MPI_COMM_WORLD, &result);
  EXPECT_EQ(result, MPI_CONGRUENT);
  int rank = -1, size = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT_EQ(comm.rank(), rank);
  EXPECT_EQ(comm.size(), size);
}

TEST(Communicator, MovesItsIdentity) {
  Communicator first(MPI_COMM_WORLD, 7);
  const MPI_Comm handle = first.get();
  Communicator second(std::move(first));
  EXPECT_EQ(second.get(), handle);
  EXPECT_EQ(first.get(), MPI_COMM_NULL);
  EXPECT_EQ(second.count_limit(), 7);
  Communicator third(MPI_COMM_SELF);
  third = std::move(second);
  EXPECT_EQ(third.get(), handle);
  EXPECT_EQ(third.host_of(third.size() - 1).empty(), false);
  EXPECT_EQ(all_reduce(third, 1, Reduce::sum), third.size());
}

TEST(Communicator, KnowsItsNodes) {
  const Communicator comm(MPI_COMM_WORLD);
  // What MPI itself says about the ranks that share memory with this one.
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, comm.rank(), MPI_INFO_NULL, &node);
  int node_rank = -1, node_size = -1;
  MPI_Comm_rank(node, &node_rank);
  MPI_Comm_size(node, &node_size);
  MPI_Comm_free(&node);
  EXPECT_EQ(comm.node_rank(), node_rank);
  EXPECT_EQ(comm.node_size(), node_size);

  int with_me = 0;
  for (int rank = 0; rank < comm.size(); ++rank) {
    EXPECT_GE(comm.node_of(rank), 0);
    EXPECT_LT(comm.node_of(rank), comm.nodes());
    with_me += comm.node_of(rank) == comm.node_of(comm.rank()) ? 1 : 0;
  }
  EXPECT_EQ(with_me, node_size);
  char name[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  MPI_Get_processor_name(name, &length);
  EXPECT_EQ(comm.host_of(comm.rank()), name);
  EXPECT_THROW(comm.node_of(comm.size()), std::out_of_range);
}

TEST(Communicator, NumbersNodesByTheirLowestRank) {
  EXPECT_EQ(number_nodes(std::vector{0}), (std::vector{0}));
  EXPECT_EQ(number_nodes(std::vector{0, 0, 2, 0, 2}), (std::vector{0, 0, 1, 0, 1}));
  EXPECT_EQ(number_nodes(std::vector{0, 1, 2, 1, 0}), (std::vector{0, 1, 2, 1, 0}));
}

TEST(Communicator, TurnsErrorsIntoExceptions) {
  const Communicator comm(MPI_COMM_WORLD);
  try {
    Messages messages(comm);
    const std::byte byte{};
    messages.send(std::span(&byte, 1), comm.size() + 5);
    FAIL() << "no exception";
  } catch (const MpiError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("MPI_Isend, peer rank " + std::to_string(comm.size() + 5) + ", 1 bytes: "), std::string::npos)
        << text;
    EXPECT_NE(text.find("MPI_ERR_RANK"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace shardmark::comm
