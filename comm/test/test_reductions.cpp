// SPDX-License-Identifier: Apache-2.0
// Every reduction against a serial sum in the order that its header states, bit for bit where it states one; and what
// it counts against what comm/placement predicts.
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <numeric>
#include <random>
#include <span>

#include "comm/collectives.hpp"
#include "comm/reduction/reductions.hpp"

namespace shardmark::comm {
namespace {

struct Case {
  const ReductionChoice* choice;
  std::int64_t limit;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& choice : reductions)
    for (const std::int64_t limit : {std::numeric_limits<int>::max(), 50, 4}) all.push_back({&choice, limit});
  return all;
}

class Reductions : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (const auto reason = GetParam().choice->unusable(comm_); !reason.empty())
      GTEST_SKIP() << GetParam().choice->name << ": " << reason;
    reduction_ = GetParam().choice->make(comm_);
  }

  const Communicator comm_{MPI_COMM_WORLD, GetParam().limit};
  const std::size_t self_ = comm_.rank();
  const std::size_t ranks_ = comm_.size();
  std::unique_ptr<Reduction> reduction_;
};

INSTANTIATE_TEST_SUITE_P(All, Reductions, testing::ValuesIn(cases()), [](const auto& instance) {
  return std::string(instance.param.choice->name) + "_limit_" + std::to_string(instance.param.limit);
});

using Counts = std::vector<std::int64_t>;

/// Even, none, all for one rank, all but for one, and random ones of which a third are 0.
std::vector<Counts> many_counts(std::size_t ranks) {
  std::vector<Counts> all{Counts(ranks, 7), Counts(ranks, 0)};
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    all.push_back(Counts(ranks, 0));
    all.back()[rank] = 300;
    all.push_back(Counts(ranks, 11));
    all.back()[rank] = 0;
  }
  for (unsigned seed = 1; seed <= 8; ++seed) {
    std::mt19937_64 random(seed);
    all.emplace_back(ranks);
    for (auto& count : all.back()) count = random() % 3 == 0 ? 0 : random() % 70;
  }
  return all;
}

/// Also more than the slots of a channel hold, where messages are not cut into thousands.
std::vector<Counts> counts_with_pieces(std::size_t ranks, std::int64_t limit) {
  std::vector<Counts> all = many_counts(ranks);
  if (limit < 1000) return all;
  all.emplace_back(ranks, 90'000 / static_cast<std::int64_t>(ranks));
  all.back().back() = 17'001;
  return all;
}

/// A sum of such values depends on the order of its additions, unless they are `exact`: then they are whole numbers.
float partial(std::size_t rank, std::size_t i, bool exact) {
  const std::uint64_t mixed = (rank * 100003 + i + 1) * 0x9E3779B97F4A7C15ULL;
  const auto whole = static_cast<float>((mixed >> 32) % 1000);
  return exact ? whole : (whole + 0.1F) * (mixed >> 63 == 0 ? 1.0F : 1e-4F);
}

/// Changes x.
float sum_of(std::span<float> x, const std::string_view reduction, std::size_t home) {
  const std::size_t ranks = x.size(), participants = std::bit_floor(ranks), folded = ranks - participants;
  if (reduction == "recursive_halving") {
    for (std::size_t q = 0; q < participants; ++q) x[q] = q < folded ? x[2 * q] + x[2 * q + 1] : x[q + folded];
    for (std::size_t distance = participants / 2; distance > 0; distance /= 2)
      for (std::size_t q = 0; q < distance; ++q) x[q] += x[q + distance];
    return x[0];
  }
  if (reduction == "node_shared") return std::accumulate(x.begin() + 1, x.end(), x[0]);
  float sum = x[home];
  for (std::size_t distance = 1; distance < ranks; ++distance) sum += x[(home + ranks - distance) % ranks];
  return sum;
}

/// [values of all ranks], for any order of the additions that is stated.
std::vector<float> sums_of(const Counts& counts, std::string_view reduction, bool exact) {
  std::vector<float> sums(exclusive_scan(counts).back()), x(counts.size());
  std::size_t i = 0;
  for (std::size_t home = 0; home < counts.size(); ++home)
    for (std::int64_t k = 0; k < counts[home]; ++k, ++i) {
      for (std::size_t rank = 0; rank < counts.size(); ++rank) x[rank] = partial(rank, i, exact);
      sums[i] = sum_of(x, reduction, home);
    }
  return sums;
}

TEST_P(Reductions, AddInTheStatedOrderAndGatherWhatWasAdded) {
  for (const Counts& counts : counts_with_pieces(ranks_, GetParam().limit))
    for (const bool exact : {true, false}) {
      const std::string_view name = GetParam().choice->name;
      if (!exact && (name == "library" || name == "nccl")) continue;  // their own order
      SCOPED_TRACE("counts " + testing::PrintToString(counts) + ", rank " + std::to_string(self_));
      const std::vector<float> sums = sums_of(counts, name, exact);
      const auto offsets = exclusive_scan(counts);
      std::vector<float> partials(sums.size());
      for (std::size_t i = 0; i < sums.size(); ++i) partials[i] = partial(self_, i, exact);
      const std::vector<float> before = partials;
      reduction_->lay_out(counts);
      for (int step = 0; step < 2; ++step) {
        std::vector<float> own(counts[self_], -1.0F), all(sums.size(), -1.0F);
        reduction_->reduce_scatter(partials, own);
        EXPECT_EQ(own, std::vector<float>(sums.begin() + offsets[self_], sums.begin() + offsets[self_ + 1]));
        reduction_->all_gather(own, all);
        EXPECT_EQ(all, sums);
      }
      EXPECT_EQ(partials, before);
    }
}

TEST_P(Reductions, SendWhatIsPredicted) {
  for (const Counts& counts : many_counts(ranks_)) {
    SCOPED_TRACE("counts " + testing::PrintToString(counts) + ", rank " + std::to_string(self_));
    Counts bytes = counts;
    for (auto& count : bytes) count *= 4;
    const placement::ByteMatrix sent = placement::reduction_bytes(GetParam().choice->steps, bytes);
    std::vector<float> all(exclusive_scan(counts).back());
    std::vector<float> own(counts[self_]);
    reduction_->lay_out(counts);
    reduction_->reduce_scatter(all, own);
    for (int peer = 0; peer < comm_.size(); ++peer)
      EXPECT_EQ(reduction_->sent()[peer], sent(comm_.rank(), peer)) << "sums to " << peer;
    reduction_->all_gather(own, all);
    for (int peer = 0; peer < comm_.size(); ++peer)
      EXPECT_EQ(reduction_->sent()[peer], sent(peer, comm_.rank())) << "back to " << peer;
  }
}

TEST_P(Reductions, RefuseSmallBuffersAndOtherRanks) {
  EXPECT_THROW(reduction_->lay_out(Counts(ranks_ + 1, 4)), std::invalid_argument);
  reduction_->lay_out(Counts(ranks_, 4));
  std::vector<float> all(4 * ranks_), own(4);
  EXPECT_THROW(reduction_->reduce_scatter(std::span(all).first(4 * ranks_ - 1), own), std::invalid_argument);
  EXPECT_THROW(reduction_->reduce_scatter(all, std::span(own).first(3)), std::invalid_argument);
  EXPECT_THROW(reduction_->all_gather(std::span(own).first(3), all), std::invalid_argument);
  EXPECT_THROW(reduction_->all_gather(own, std::span(all).first(4 * ranks_ - 1)), std::invalid_argument);
}

}  // namespace
}  // namespace shardmark::comm
