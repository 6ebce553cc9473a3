// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "comm/route.hpp"

namespace shardmark::comm {
namespace {

using Counts = std::vector<std::int64_t>;

TEST(Route, HasOffsetsAndTotals) {
  const Route route({2, 0, 3}, {1, 4, 0}, 7);
  EXPECT_EQ(route.size(), 3);
  EXPECT_EQ(route.send_offsets(), (Counts{0, 2, 2, 5}));
  EXPECT_EQ(route.receive_offsets(), (Counts{0, 1, 5, 5}));
  EXPECT_EQ(route.send_total(), 5);
  EXPECT_EQ(route.receive_total(), 5);
  EXPECT_EQ(route.bound(), 7);
}

TEST(Route, WithoutRanksIsEmpty) {
  const Route route;
  EXPECT_EQ(route.size(), 0);
  EXPECT_EQ(route.send_total(), 0);
  EXPECT_EQ(route.receive_total(), 0);
}

TEST(Route, InverseSwapsSendAndReceive) {
  const Route route({2, 0, 3}, {1, 4, 1}, 6);
  EXPECT_EQ(route.inverse(), Route({1, 4, 1}, {2, 0, 3}, 6));
  EXPECT_EQ(route.inverse().inverse(), route);
}

TEST(Route, HasAnIdOfItsOwn) {
  const Route route({2, 0, 3}, {1, 4, 1}, 6), other({2, 0, 3}, {1, 4, 1}, 6);
  const Route copy = route;
  EXPECT_EQ(copy.id(), route.id());
  EXPECT_EQ(route.inverse().id(), route.inverse().id());
  EXPECT_EQ(route.inverse().inverse().id(), route.id());
  const std::set<std::uint64_t> ids{Route().id(),         route.id(),           route.inverse().id(), other.id(),
                                    other.inverse().id(), route.scaled(2).id(), route.scaled(2).id()};
  EXPECT_EQ(ids.size(), 7);
}

TEST(Route, ScaledMultipliesCountsAndBound) {
  EXPECT_EQ(Route({2, 0, 3}, {1, 4, 1}, 6).scaled(16), Route({32, 0, 48}, {16, 64, 16}, 96));
  EXPECT_EQ(Route({2, 1}, {1, 1}, 3).scaled(0), Route({0, 0}, {0, 0}, 0));
}

TEST(Route, CountsBytesForOthersOnly) {
  const Route route({2, 5, 3}, {0, 0, 0}, 10);
  EXPECT_EQ(route.bytes_sent_off_rank(8, 0), 64);
  EXPECT_EQ(route.bytes_sent_off_rank(8, 1), 40);
  EXPECT_EQ(route.bytes_sent_off_rank(8, 2), 56);
}

TEST(Route, RefusesWhatCannotBe) {
  EXPECT_THROW(Route({-1}, {0}, 0), std::invalid_argument);
  EXPECT_THROW(Route({0}, {-1}, 0), std::invalid_argument);
  EXPECT_THROW(Route({0, 0}, {0}, 0), std::invalid_argument);
  EXPECT_THROW(Route({3}, {4}, 3), std::invalid_argument);
  EXPECT_THROW(Route({1}, {1}, 1).scaled(-1), std::invalid_argument);
  EXPECT_THROW(Route({1LL << 40}, {0}, 1LL << 40).scaled(1LL << 23), std::overflow_error);
}

TEST(ExchangeCounts, FindsTheTransposeAndTheLargestTotal) {
  const Communicator comm(MPI_COMM_WORLD);
  const std::size_t ranks = comm.size();
  for (unsigned seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::vector<Counts> matrix(ranks, Counts(ranks));  // [from][to], the same on all ranks
    for (auto& row : matrix) {
      for (auto& count : row) count = random() % 3 * (random() % (1LL << 40));
    }
    const std::size_t self = comm.rank();
    Counts column(ranks);
    std::int64_t largest = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      column[rank] = matrix[rank][self];
      std::int64_t sent = 0, received = 0;
      for (std::size_t peer = 0; peer < ranks; ++peer) {
        sent += matrix[rank][peer];
        received += matrix[peer][rank];
      }
      largest = std::max({largest, sent, received});
    }
    EXPECT_EQ(exchange_counts(comm, matrix[self]), Route(matrix[self], column, largest));
  }
}

TEST(ExchangeCounts, RefusesAWrongNumberOfRanks) {
  const Communicator comm(MPI_COMM_WORLD);
  EXPECT_THROW(exchange_counts(comm, Counts(comm.size() + 1)), std::invalid_argument);
}

}  // namespace
}  // namespace shardmark::comm
