// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "kernels/route/check_bags.hpp"
#include "kernels/test/host_table.hpp"
#include "reference/batch.hpp"

namespace shardmark::kernels::test {
namespace {

template <class Types>
class CheckBagsTest : public testing::Test {
 public:
  using Exec = typename Types::Exec;
  using Index = typename Types::Index;

  /// A good batch of 3 features, large enough for several ranges.
  static Batch good_batch(std::uint64_t seed, bool weighted) {
    Random random(seed);
    Batch batch{.samples = 2000, .features = 3, .offsets = {0}, .indices = {}, .weights = {}};
    for (std::int64_t bag = 0; bag < batch.bags(); ++bag) {
      for (std::int64_t i = draw(random, 0, 3); i > 0; --i)
        batch.indices.push_back(draw(random, 0, rows[at(bag / batch.samples)] - 1));
      batch.offsets.push_back(batch.nnz());
    }
    if (weighted) batch.weights.assign(batch.indices.size(), 0.5F);
    return batch;
  }

  /// What check_bags threw, or what it warned of first.
  std::string words(BoundsCheck mode, const Batch& batch, std::int64_t first_sample = 0) {
    const Exec exec;
    indices_ = array_of(exec, converted<Index>(batch.indices), "indices");
    std::vector<std::int64_t> first_bag;
    for (std::int64_t f = 0; f <= batch.features; ++f) first_bag.push_back(f * batch.samples);
    const Bags<Exec, Index> bags{array_of(exec, first_bag, "first_bag"), array_of(exec, batch.offsets, "offsets"),
                                 indices_, array_of(exec, batch.weights, "weights")};
    try {
      warnings = check_bags<Exec, Index>(exec, mode, bags, indices_,
                                         array_of(exec, std::vector<KeyRange>(rows.begin(), rows.end()), "keys"),
                                         first_sample);
    } catch (const InputError& error) {
      return error.what();
    }
    return warnings.first;
  }

  std::vector<Index> mended() const { return host(indices_); }

  static std::string words_of_the_reference(const Batch& batch) {
    try {
      check_batch(batch, rows);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  static inline const std::vector<std::int64_t> rows{10, 1, 100};
  BagWarnings warnings;

 private:
  Array<Exec, Index> indices_;
};
TYPED_TEST_SUITE(CheckBagsTest, IndexTypes);

TYPED_TEST(CheckBagsTest, LetsGoodBatchesPass) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    EXPECT_EQ(this->words(BoundsCheck::on, this->good_batch(seed, seed % 2 == 0)), "") << seed_line(seed);
  EXPECT_EQ(this->words(BoundsCheck::on, {.samples = 0, .features = 3, .offsets = {0}, .indices = {}, .weights = {}}),
            "");
}

/// One to three faults at random places: the words are those of the reference.
TYPED_TEST(CheckBagsTest, SaysWhatTheReferenceSays) {
  for (std::uint64_t seed = 10; seed < 60; ++seed) {
    Random random(seed);
    Batch batch = this->good_batch(seed, seed % 2 == 0);
    for (std::int64_t faults = draw(random, 1, 3); faults > 0; --faults) {
      const std::size_t id = at(draw(random, 0, batch.nnz() - 1));
      const std::size_t offset = at(draw(random, 0, batch.bags()));
      switch (draw(random, 0, 4)) {
        case 0:
          batch.indices[id] = -1 - draw(random, 0, 5);
          break;
        case 1:
          batch.indices[id] = 100 + draw(random, 0, 5);
          break;
        case 2:
          if (!batch.weights.empty()) batch.weights[id] = std::numeric_limits<float>::quiet_NaN();
          break;
        case 3:
          if (!batch.weights.empty()) batch.weights[id] = -std::numeric_limits<float>::infinity();
          break;
        default:
          if (seed % 5 == 0) batch.offsets[offset] += draw(random, 0, 1) == 0 ? 20 : -20;
      }
    }
    EXPECT_EQ(this->words(BoundsCheck::on, batch), this->words_of_the_reference(batch)) << seed_line(seed);
    EXPECT_EQ(this->words(BoundsCheck::off, batch), "");
  }
}

TYPED_TEST(CheckBagsTest, WarnsCountsAndMends) {
  Batch batch = this->good_batch(3, true);
  const auto good = batch;
  batch.indices[7] = -3;
  batch.indices.back() = 100;
  batch.weights[2] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(this->words(BoundsCheck::warn, batch, 0), this->words_of_the_reference(batch));
  EXPECT_EQ(this->warnings.ids, 2);
  EXPECT_EQ(this->warnings.weights, 1);
  auto expected = converted<typename TypeParam::Index>(good.indices);
  expected[7] = expected.back() = 0;
  EXPECT_EQ(this->mended(), expected);
  this->words(BoundsCheck::fold, batch, 0);
  EXPECT_EQ(this->warnings.ids, 2);
  expected[7] = 3;  // 2^64 - 3 modulo 10
  EXPECT_EQ(this->mended(), expected);
  batch.offsets[5] = -1;
  EXPECT_EQ(this->words(BoundsCheck::warn, batch), this->words_of_the_reference(batch));
}

TYPED_TEST(CheckBagsTest, CountsSamplesFromTheFirstOfTheRank) {
  Batch batch = this->good_batch(4, false);
  batch.indices[at(batch.offsets[5])] = 1000;
  ASSERT_LT(batch.offsets[5], batch.offsets[6]);
  EXPECT_EQ(this->words(BoundsCheck::on, batch, 4000),
            "batch: id 1000 of feature 0, sample 4005 is outside its table of 10 rows");
}

TEST(BoundsCheckNames, AreKnown) {
  EXPECT_EQ(named<BoundsCheck>("warn"), BoundsCheck::warn);
  EXPECT_THROW(named<BoundsCheck>("maybe"), InputError);
}

}  // namespace
}  // namespace shardmark::kernels::test
