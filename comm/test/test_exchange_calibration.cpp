// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "comm/collectives.hpp"
#include "comm/exchange/auto.hpp"
#include "comm/exchange/named_exchange.hpp"
#include "comm/test/some_calibration.hpp"
#include "reference/error.hpp"

namespace shardmark::comm {
namespace {

const std::vector<bool> all(5, true);

TEST(ExchangeCalibration, PicksWhatWinsBelowAndAbove) {
  const Communicator comm(MPI_COMM_WORLD);
  const placement::ExchangeRatios some = some_calibration(comm);
  EXPECT_EQ(some.best(64, false, all), 2);
  EXPECT_EQ(some.best(32, false, all), 2);
  EXPECT_EQ(some.best(1, false, all), 2) << "the smallest measured size stands for those below";
  EXPECT_EQ(some.best(128, false, all), 1);
  EXPECT_EQ(some.best(64, true, all), 3);
  EXPECT_EQ(some.best(4096, false, all), 4);
  EXPECT_EQ(some.best(4097, false, all), std::nullopt) << "more than four times the largest measured size";
  const auto between = some.best(100, false, all);  // all four reach 0.9 at worst
  ASSERT_TRUE(between);
  EXPECT_EQ(*between, 1);
}

TEST(ExchangeCalibration, StaysWithTheLibraryForLessThanFivePercent) {
  const placement::ExchangeRatios close{
      .ranks = 2, .nodes = 1, .exchanges = {"mpi_alltoallv", "linear"}, .cells = {{64, false, {1.0, 0.951}}}};
  EXPECT_EQ(close.best(64, false, {true, true}), std::nullopt);
  const placement::ExchangeRatios better{
      .ranks = 2, .nodes = 1, .exchanges = {"mpi_alltoallv", "linear"}, .cells = {{64, false, {1.0, 0.949}}}};
  EXPECT_EQ(better.best(64, false, {true, true}), 1);
  EXPECT_EQ(better.best(64, false, {true, false}), std::nullopt) << "not allowed";
  EXPECT_EQ(better.best(64, true, {true, true}), std::nullopt) << "this shape was not measured";
}

TEST(ExchangeCalibration, RefusesThatOfOtherRanksAndUnknownExchanges) {
  const Communicator comm(MPI_COMM_WORLD);
  placement::ExchangeRatios other = some_calibration(comm);
  ++other.ranks;
  EXPECT_THROW(set_calibration(comm, other), InputError);
  placement::ExchangeRatios unknown = some_calibration(comm);
  unknown.exchanges.back() = "nosuch";
  EXPECT_THROW(set_calibration(comm, unknown), InputError);
}

TEST(ExchangeCalibration, IsMadeOncePerCommunicatorAndTheSameOnAllRanks) {
  const Communicator comm(MPI_COMM_WORLD);
  const placement::ExchangeRatios& first = calibration_of(comm);
  EXPECT_EQ(&calibration_of(comm), &first);
  for (const auto& cell : first.cells) {
    std::vector<double> of_rank_0 = cell.ratios;
    broadcast(comm, std::as_writable_bytes(std::span(of_rank_0)), 0);
    EXPECT_EQ(cell.ratios, of_rank_0);
  }
  ASSERT_FALSE(first.exchanges.empty());
  EXPECT_EQ(first.exchanges.front(), "mpi_alltoallv");
  for (const auto& cell : first.cells) {
    ASSERT_EQ(cell.ratios.size(), first.exchanges.size());
    EXPECT_EQ(cell.ratios.front(), 1.0);
    for (const double ratio : cell.ratios) EXPECT_GT(ratio, 0.0);
  }
  EXPECT_EQ(first.cells.empty(), comm.size() == 1);
}

TEST(Auto, PicksBySizeAndShapeAndKnowsARouteFromItsSecondRun) {
  const Communicator comm(MPI_COMM_WORLD);
  if (comm.size() < 3) GTEST_SKIP() << "a skewed route needs three ranks";
  set_calibration(comm, some_calibration(comm));
  const std::size_t ranks = comm.size();
  const auto picked_for = [&](std::vector<std::int64_t> counts, int runs) {
    Auto exchange(comm);
    const Route route = exchange_counts(comm, std::move(counts));
    std::vector<std::byte> send(route.send_total()), receive(route.receive_total());
    for (int i = 0; i < runs; ++i) exchange.run(route, send.data(), receive.data(), 1);
    return exchange.picked();
  };
  EXPECT_EQ(picked_for(std::vector<std::int64_t>(ranks, 64), 1), "linear") << "bruck would have to ask for sizes";
  EXPECT_EQ(picked_for(std::vector<std::int64_t>(ranks, 64), 2), "linear+bruck:2");
  EXPECT_EQ(picked_for(std::vector<std::int64_t>(ranks, 1024), 2), "chunked:4");
  std::vector<std::int64_t> to_rank_0(ranks, 0);
  to_rank_0.front() = 500;
  EXPECT_EQ(picked_for(to_rank_0, 2), "linear+persistent");
}

}  // namespace
}  // namespace shardmark::comm
