// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "comm/reduce_scatter.hpp"

namespace shardmark::comm {
namespace {

class ReduceScatter : public testing::TestWithParam<std::int64_t> {
 protected:
  const Communicator comm_{MPI_COMM_WORLD, GetParam()};
  const std::size_t self_ = comm_.rank();
  const std::size_t ranks_ = comm_.size();
};

INSTANTIATE_TEST_SUITE_P(Limits, ReduceScatter, testing::Values(std::numeric_limits<int>::max(), 50, 3),
                         [](const auto& instance) { return "limit_" + std::to_string(instance.param); });

/// Exact in any order of additions: a multiple of 1/4 that depends on rank and place.
float partial(std::size_t rank, std::size_t i) {
  return 0.25f * static_cast<float>(rank + 1) * static_cast<float>(static_cast<int>(i % 97) - 40);
}

std::vector<std::int64_t> random_counts(unsigned seed, std::size_t ranks) {
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> counts(ranks);
  for (auto& count : counts) count = random() % 3 == 0 ? 0 : random() % 60;
  if (seed % 4 == 0) counts[random() % ranks] += 2000;
  return counts;
}

TEST_P(ReduceScatter, LeavesTheSumsAndAllGatherVBringsThemBack) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", rank " + std::to_string(self_));
    const auto counts = random_counts(seed, ranks_);
    const auto offsets = exclusive_scan(counts);
    const std::size_t total = offsets.back();
    std::vector<float> send(total), sums(total);
    for (std::size_t i = 0; i < total; ++i) {
      send[i] = partial(self_, i);
      for (std::size_t rank = 0; rank < ranks_; ++rank) sums[i] += partial(rank, i);
    }
    std::vector<float> own(counts[self_], -1.0f);
    reduce_scatter(comm_, send, counts, own);
    EXPECT_EQ(own, std::vector<float>(sums.begin() + offsets[self_], sums.begin() + offsets[self_ + 1]));

    std::vector<float> all(total, -1.0f);
    all_gather_v(comm_, std::span<const float>(own), counts, std::span(all));
    EXPECT_EQ(all, sums);
  }
}

TEST_P(ReduceScatter, RefusesSmallBuffers) {
  const std::vector<std::int64_t> counts(ranks_, 4);
  std::vector<float> send(4 * ranks_), receive(4);
  EXPECT_THROW(reduce_scatter(comm_, std::span(send).first(4 * ranks_ - 1), counts, receive), std::invalid_argument);
  EXPECT_THROW(reduce_scatter(comm_, send, counts, std::span(receive).first(3)), std::invalid_argument);
}

}  // namespace
}  // namespace shardmark::comm
