// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <vector>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"

namespace shardmark::comm {
namespace {

/// agree() with work that throws on the given ranks must throw `Error` with the text of the lowest of them on all.
/// "rank 1 (node1): "; nothing where there is but one rank.
std::string prefix_of(const Communicator& comm, int rank) {
  return comm.size() == 1 ? "" : "rank " + std::to_string(rank) + " (" + comm.host_of(rank) + "): ";
}

template <class Error>
void expect_all_throw(const Communicator& comm, const std::function<bool(int rank)>& fails,
                      const std::function<void(int rank)>& fail, const std::string& text_of_lowest) {
  int lowest = 0;
  while (!fails(lowest)) ++lowest;
  try {
    agree(comm, [&] {
      if (fails(comm.rank())) fail(comm.rank());
    });
    ADD_FAILURE() << "no exception on rank " << comm.rank();
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), prefix_of(comm, lowest) + text_of_lowest);
    EXPECT_EQ(error.ranks(), comm.size());
  }
  // Nobody is left in another collective: the next one works.
  EXPECT_EQ(all_reduce(comm, 1, Reduce::sum), comm.size());
}

class Agree : public testing::Test {
 protected:
  const Communicator comm_{MPI_COMM_WORLD};
  const int last_ = comm_.size() - 1;
};

void throw_runtime_error(int rank) { throw std::runtime_error("broken on " + std::to_string(rank)); }
void throw_input_error(int rank) { throw InputError("file.tsv:7: bad on " + std::to_string(rank)); }

TEST_F(Agree, ReturnsWhatEachRankFound) {
  EXPECT_EQ(agree(comm_, [this] { return 10 * comm_.rank(); }), 10 * comm_.rank());
  EXPECT_EQ(agree(comm_, [] { return std::vector<int>{1, 2}; }), (std::vector<int>{1, 2}));
  bool ran = false;
  agree(comm_, [&ran] { ran = true; });
  EXPECT_TRUE(ran);
}

TEST_F(Agree, FirstRankFails) {
  const auto first = [](int rank) { return rank == 0; };
  expect_all_throw<CollectiveError>(comm_, first, throw_runtime_error, "broken on 0");
  expect_all_throw<CollectiveInputError>(comm_, first, throw_input_error, "file.tsv:7: bad on 0");
}

TEST_F(Agree, LastRankFails) {
  const auto last = [this](int rank) { return rank == last_; };
  expect_all_throw<CollectiveError>(comm_, last, throw_runtime_error, "broken on " + std::to_string(last_));
  expect_all_throw<CollectiveInputError>(comm_, last, throw_input_error, "file.tsv:7: bad on " + std::to_string(last_));
}

TEST_F(Agree, EveryRankFails) {
  const auto all = [](int) { return true; };
  expect_all_throw<CollectiveInputError>(comm_, all, throw_input_error, "file.tsv:7: bad on 0");
}

TEST_F(Agree, SeveralRanksFailInDifferentWays) {
  const auto several = [this](int rank) { return rank >= std::min(1, last_); };
  const int lowest = std::min(1, last_);
  const auto fail = [lowest](int rank) { rank == lowest ? throw_input_error(rank) : throw_runtime_error(rank); };
  expect_all_throw<CollectiveInputError>(comm_, several, fail, "file.tsv:7: bad on " + std::to_string(lowest));
}

TEST_F(Agree, ValuesAreAgreedToo) {
  EXPECT_THROW(agree(comm_,
                     [this]() -> int {
                       if (comm_.rank() == last_) throw InputError("no");
                       return 1;
                     }),
               InputError);
}

TEST_F(Agree, SaysWhatTheLibraryLeavesOut) {
  const auto last = [this](int rank) { return rank == last_; };
  expect_all_throw<CollectiveError>(
      comm_, last, [](int) { throw std::bad_alloc(); }, "out of memory");
  expect_all_throw<CollectiveError>(
      comm_, last, [](int) { throw 5; }, "an exception of unknown type");
}

TEST_F(Agree, NamesTheRankOnceWhenNested) {
  const auto nested = [this](int) {
    agree(comm_, [this] {
      if (comm_.rank() == last_) throw InputError("inner");
    });
  };
  try {
    agree(comm_, [&] { nested(0); });
    ADD_FAILURE() << "no exception";
  } catch (const CollectiveInputError& error) {
    EXPECT_EQ(error.what(), prefix_of(comm_, last_) + "inner");
  }
}

}  // namespace
}  // namespace shardmark::comm
