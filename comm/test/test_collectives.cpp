// SPDX-License-Identifier: Apache-2.0
// Every test runs with MPI's own limit of counts and with limits so low that all messages go in pieces.
#include <gtest/gtest.h>

#include <numeric>

#include "comm/collectives.hpp"
#include "comm/messages.hpp"
#include "comm/mpi_error.hpp"
#include "comm/waiting.hpp"

namespace shardmark::comm {
namespace {

class Collectives : public testing::TestWithParam<std::int64_t> {
 protected:
  const Communicator comm_{MPI_COMM_WORLD, GetParam()};
  const int rank_ = comm_.rank();
  const int size_ = comm_.size();
};

INSTANTIATE_TEST_SUITE_P(Limits, Collectives, testing::Values(1, 2, 7, std::numeric_limits<int>::max()),
                         [](const auto& instance) { return "limit_" + std::to_string(instance.param); });

TEST_P(Collectives, ReduceScalars) {
  EXPECT_EQ(all_reduce(comm_, rank_ + 1, Reduce::sum), size_ * (size_ + 1) / 2);
  EXPECT_EQ(all_reduce(comm_, std::int64_t{1} << (40 + rank_), Reduce::max), std::int64_t{1} << (39 + size_));
  EXPECT_EQ(all_reduce(comm_, -1.5 * rank_, Reduce::min), -1.5 * (size_ - 1));
  EXPECT_EQ(all_reduce(comm_, 0.25f, Reduce::sum), 0.25f * static_cast<float>(size_));
  EXPECT_EQ(all_reduce(comm_, std::int64_t{1} << (40 + rank_) | 3, Reduce::bit_or),
            (((std::int64_t{1} << size_) - 1) << 40) | 3);
}

template <class T>
void check_in_place(const Communicator& comm) {
  std::vector<T> values(17);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(static_cast<int>(i) * 8 + comm.rank());
  all_reduce(comm, std::span(values), Reduce::max);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i], static_cast<T>(static_cast<int>(i) * 8 + comm.size() - 1)) << i;
  }
  all_reduce(comm, std::span<T>(), Reduce::sum);
}

TEST_P(Collectives, ReduceSpansInPlace) {
  for (const auto path : {Waiting::sleep, Waiting::poll}) {
    set_waiting(path);
    check_in_place<int>(comm_);
    check_in_place<std::int64_t>(comm_);
    check_in_place<float>(comm_);
    check_in_place<double>(comm_);
  }
}

TEST_P(Collectives, GatherOneValueOfEachRankEverywhere) {
  std::vector<std::int64_t> expected(size_);
  std::iota(expected.begin(), expected.end(), std::int64_t{1} << 33);
  EXPECT_EQ(all_gather(comm_, (std::int64_t{1} << 33) + rank_), expected);
}

TEST_P(Collectives, GatherStringsEverywhere) {
  const auto texts = all_gather(comm_, std::string(rank_ * 3, static_cast<char>('a' + rank_)));
  ASSERT_EQ(texts.size(), size_);
  for (int rank = 0; rank < size_; ++rank) {
    EXPECT_EQ(texts[rank], std::string(rank * 3, static_cast<char>('a' + rank)));
  }
}

TEST_P(Collectives, BroadcastFromEachRoot) {
  for (int root = 0; root < size_; ++root) {
    std::string text = rank_ == root ? "from " + std::to_string(root) : "a longer text that must go";
    broadcast(comm_, text, root);
    EXPECT_EQ(text, "from " + std::to_string(root));
    std::string empty = rank_ == root ? "" : "x";
    broadcast(comm_, empty, root);
    EXPECT_EQ(empty, "");
  }
}

/// Rank r gives 5 r values (so rank 0 none), 1000 r + 0, 1, ...
std::vector<double> values_of(int rank) {
  std::vector<double> values(5 * rank);
  std::iota(values.begin(), values.end(), 1000.0 * rank);
  return values;
}

void expect_all(const Gathered<double>& gathered, int size) {
  ASSERT_EQ(gathered.offsets.size(), size + 1);
  for (int rank = 0; rank < size; ++rank) {
    const auto part = gathered.of(rank);
    EXPECT_EQ(std::vector<double>(part.begin(), part.end()), values_of(rank)) << "rank " << rank;
  }
}

TEST_P(Collectives, GatherPartsEverywhere) {
  const auto own = values_of(rank_);
  expect_all(all_gather(comm_, std::span<const double>(own)), size_);
}

TEST_P(Collectives, GatherPartsAtEachRoot) {
  const auto own = values_of(rank_);
  for (int root = 0; root < size_; ++root) {
    const auto gathered = gather(comm_, std::span<const double>(own), root);
    if (rank_ == root) {
      expect_all(gathered, size_);
    } else {
      EXPECT_TRUE(gathered.values.empty());
    }
  }
}

/// Rank 1 sends, rank 0 expects another size; `texts`: what its error must contain.
void check_message_of_other_size(const Communicator& comm, std::size_t sent, std::size_t expected,
                                 std::initializer_list<std::string_view> texts) {
  const std::vector<std::byte> message(sent);
  std::vector<std::byte> room(expected);
  Messages messages(comm);
  if (comm.rank() == 1) messages.send(message, 0);
  if (comm.rank() != 0) return messages.wait();
  messages.receive(room, 1);
  try {
    messages.wait();
    ADD_FAILURE() << "no exception";
  } catch (const MpiError& error) {
    for (const std::string_view text : texts)
      EXPECT_NE(std::string_view(error.what()).find(text), std::string_view::npos) << error.what();
  }
}

TEST_P(Collectives, AMessageOfAnotherSizeIsAnError) {
  if (size_ < 2) GTEST_SKIP() << "needs two ranks";
  if (GetParam() < 8) GTEST_SKIP() << "the sizes below must fit one piece";
  check_message_of_other_size(comm_, 6, 8, {"MPI_Waitall, peer rank 1, 8 bytes: only 6 bytes came"});
  check_message_of_other_size(comm_, 8, 6, {"peer rank 1, 6 bytes: ", "MPI_ERR_TRUNCATE"});
}

TEST(ExclusiveScan, EndsWithTheTotal) {
  EXPECT_EQ(exclusive_scan(std::vector<std::int64_t>{}), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(exclusive_scan(std::vector<std::int64_t>{3, 0, 1LL << 40}),
            (std::vector<std::int64_t>{0, 3, 3, (1LL << 40) + 3}));
}

}  // namespace
}  // namespace shardmark::comm
