// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "reference/batch.hpp"
#include "reference/error.hpp"

namespace shardmark::reference {
namespace {

using Ids = std::vector<std::int64_t>;

// Feature 0: {1, 2}, {}, {3}; feature 1: {7}, {8, 8, 9}, {}.
Batch two_features_of_three_samples() {
  return {.samples = 3,
          .features = 2,
          .offsets = {0, 2, 2, 3, 4, 7, 7},
          .indices = {1, 2, 3, 7, 8, 8, 9},
          .weights = {0.5F, 1.0F, 1.5F, 2.0F, 2.5F, 3.0F, 3.5F}};
}

const Ids rows_of_tables{4, 10};

std::string refusal_of(const Batch& batch) {
  try {
    check_batch(batch, rows_of_tables);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Batch, RangesOfAFeature) {
  const Batch batch = two_features_of_three_samples();
  EXPECT_EQ(batch.bags(), 6);
  EXPECT_EQ(batch.nnz(), 7);
  EXPECT_EQ(batch.begin_of(0), 0);
  EXPECT_EQ(batch.end_of(0), 3);
  EXPECT_EQ(batch.begin_of(1), 3);
  EXPECT_EQ(batch.end_of(1), 7);
}

TEST(Batch, SliceTakesTheSamplesOfEveryFeature) {
  const Batch slice = slice_samples(two_features_of_three_samples(), 1, 2);
  EXPECT_EQ(slice.samples, 2);
  EXPECT_EQ(slice.features, 2);
  EXPECT_EQ(slice.offsets, (Ids{0, 0, 1, 4, 4}));
  EXPECT_EQ(slice.indices, (Ids{3, 8, 8, 9}));
  EXPECT_EQ(slice.weights, (std::vector<float>{1.5F, 2.5F, 3.0F, 3.5F}));
}

TEST(Batch, SliceOfEverythingIsTheBatch) {
  const Batch batch = two_features_of_three_samples();
  const Batch slice = slice_samples(batch, 0, 3);
  EXPECT_EQ(slice.offsets, batch.offsets);
  EXPECT_EQ(slice.indices, batch.indices);
  EXPECT_EQ(slice.weights, batch.weights);
}

TEST(Batch, SliceOfNothingIsAnEmptyBatch) {
  for (std::int64_t first = 0; first <= 3; ++first) {
    const Batch slice = slice_samples(two_features_of_three_samples(), first, 0);
    EXPECT_EQ(slice.offsets, Ids{0}) << first;
    EXPECT_EQ(slice.nnz(), 0) << first;
    EXPECT_TRUE(slice.weights.empty()) << first;
  }
}

TEST(Batch, SliceWithoutWeightsHasNone) {
  Batch batch = two_features_of_three_samples();
  batch.weights.clear();
  EXPECT_TRUE(slice_samples(batch, 0, 2).weights.empty());
}

// Feature 0: {{1, 2}, {}}, {}, {{}, {3}}; feature 1 has no segments of its own.
Batch nested_batch() {
  Batch batch = two_features_of_three_samples();
  batch.first_segment = {0, 2, 2, 4, 5, 6, 7};
  batch.segment_offsets = {0, 2, 2, 2, 3, 4, 7, 7};
  return batch;
}

/// The bags of samples [first, first + count) of feature 0, as "sample.position: ids".
std::vector<std::string> bags_of(const Batch& batch, const Feature& feature, std::int64_t first, std::int64_t count) {
  std::vector<std::string> bags;
  for_each_bag(batch, 0, feature, first, count, [&](const Bag& bag) {
    std::string text = std::to_string(bag.sample) + "." + std::to_string(bag.position) + ":";
    for (std::size_t i = 0; i < bag.ids.size(); ++i)
      text += " " + std::to_string(bag.ids[i]) + "x" + std::to_string(static_cast<int>(2 * bag.weight(i)));
    bags.push_back(std::move(text));
  });
  return bags;
}

TEST(Batch, SegmentRankSaysWhatIsABag) {
  using Texts = std::vector<std::string>;
  const Feature by_sample{.name = "f", .segments = 2}, by_segment{.name = "f", .segments = 2, .segment_rank = 1};
  EXPECT_EQ(bags_of(nested_batch(), by_sample, 0, 3), (Texts{"0.0: 1x1 2x2", "1.0:", "2.0: 3x3"}));
  EXPECT_EQ(bags_of(nested_batch(), by_segment, 0, 3), (Texts{"0.0: 1x1 2x2", "0.1:", "2.0:", "2.1: 3x3"}));
  EXPECT_EQ(bags_of(nested_batch(), by_segment, 2, 1), (Texts{"2.0:", "2.1: 3x3"}));
  EXPECT_EQ(bags_of(nested_batch(), {.name = "f", .pooling = Pooling::none, .segments = 2}, 0, 3),
            (Texts{"0.0: 1x1", "0.1: 2x2", "2.0: 3x3"}));
}

TEST(Batch, BagsPerSample) {
  EXPECT_EQ(bags_per_sample({.name = "f", .hotness = 6}), 1);
  EXPECT_EQ(bags_per_sample({.name = "f", .hotness = 6, .segments = 3}), 1);
  EXPECT_EQ(bags_per_sample({.name = "f", .hotness = 6, .segments = 3, .segment_rank = 1}), 3);
  EXPECT_EQ(bags_per_sample({.name = "f", .pooling = Pooling::none, .hotness = 6, .segments = 3}), 6);
}

TEST(Batch, SliceTakesTheSegmentsOfItsSamples) {
  const Batch slice = slice_samples(nested_batch(), 1, 2);
  EXPECT_EQ(slice.first_segment, (Ids{0, 0, 2, 3, 4}));
  EXPECT_EQ(slice.segment_offsets, (Ids{0, 0, 1, 4, 4}));
  EXPECT_EQ(refusal_of(slice), "accepted");
  const Batch whole = slice_samples(nested_batch(), 0, 3);
  EXPECT_EQ(whole.first_segment, nested_batch().first_segment);
  EXPECT_EQ(whole.segment_offsets, nested_batch().segment_offsets);
  EXPECT_TRUE(slice_samples(two_features_of_three_samples(), 1, 2).first_segment.empty());
}

TEST(Batch, RefusesSegmentsThatDoNotFit) {
  EXPECT_EQ(refusal_of(nested_batch()), "accepted");
  Batch batch = nested_batch();
  batch.first_segment.pop_back();
  EXPECT_EQ(refusal_of(batch), "batch: 6 first segments of bags and 8 offsets of segments do not fit 6 bags");
  batch = nested_batch();
  batch.segment_offsets.pop_back();
  EXPECT_EQ(refusal_of(batch), "batch: 7 first segments of bags and 7 offsets of segments do not fit 6 bags");
  batch = nested_batch();
  batch.segment_offsets[2] = 1;  // the end of the last segment of sample 0, which has 2 ids
  EXPECT_EQ(refusal_of(batch), "batch: segments do not divide the ids of feature 0, sample 0");
  batch = nested_batch();
  batch.segment_offsets[3] = 5;
  EXPECT_EQ(refusal_of(batch), "batch: segments do not divide the ids of feature 0, sample 2");
  batch = nested_batch();
  batch.first_segment[5] = 9;
  EXPECT_EQ(refusal_of(batch), "batch: segments do not divide the ids of feature 1, sample 1");
}

TEST(Batch, AcceptsAGoodOne) {
  EXPECT_EQ(refusal_of(two_features_of_three_samples()), "accepted");
  EXPECT_EQ(refusal_of({.samples = 0, .features = 2, .offsets = {0}, .indices = {}, .weights = {}}), "accepted");
}

TEST(Batch, RefusesSizesThatDoNotFit) {
  Batch batch = two_features_of_three_samples();
  batch.offsets.pop_back();
  EXPECT_EQ(refusal_of(batch), "batch: 2 features x 3 samples need 7 offsets, got 6");
  batch.offsets.clear();
  EXPECT_EQ(refusal_of(batch), "batch: 2 features x 3 samples need 7 offsets, got 0");

  batch = two_features_of_three_samples();
  batch.offsets.front() = 1;
  EXPECT_EQ(refusal_of(batch), "batch: offsets start at 1 instead of 0");

  batch = two_features_of_three_samples();
  batch.offsets.back() = 8;
  EXPECT_EQ(refusal_of(batch), "batch: offsets end at 8 but there are 7 ids");

  batch = two_features_of_three_samples();
  batch.weights.pop_back();
  EXPECT_EQ(refusal_of(batch), "batch: 6 weights for 7 ids");

  batch = two_features_of_three_samples();
  batch.samples = -1;
  EXPECT_EQ(refusal_of(batch), "batch: 2 features of -1 samples, but 2 features are known");
  batch.samples = 2;
  batch.features = 3;
  EXPECT_EQ(refusal_of(batch), "batch: 3 features of 2 samples, but 2 features are known");
}

TEST(Batch, RefusesOffsetsThatDecrease) {
  Batch batch = two_features_of_three_samples();
  batch.offsets[5] = 3;  // the end of feature 1, sample 1, which begins at 4
  EXPECT_EQ(refusal_of(batch), "batch: offsets decrease at feature 1, sample 1: 4 then 3");
  batch.offsets[5] = 900;  // beyond the ids, so the next bag goes back
  EXPECT_EQ(refusal_of(batch), "batch: offsets decrease at feature 1, sample 2: 900 then 7");
}

TEST(Batch, RefusesIdsOutsideTheTable) {
  Batch batch = two_features_of_three_samples();
  batch.indices[2] = 4;
  EXPECT_EQ(refusal_of(batch), "batch: id 4 of feature 0, sample 2 is outside its table of 4 rows");
  batch.indices[2] = 3;
  batch.indices[6] = -1;
  EXPECT_EQ(refusal_of(batch), "batch: id -1 of feature 1, sample 1 is outside its table of 10 rows");
}

TEST(Batch, TakesAnyKeysAndThoseOfAVocabulary) {
  constexpr auto least = KeyRange::least, most = KeyRange::most;
  static_assert(KeyRange::all().contains(least) && KeyRange::all().contains(-1) && KeyRange::all().contains(most));
  static_assert(KeyRange::all().folded(-7) == -7 && KeyRange::all() == KeyRange(least, most));
  static_assert(KeyRange(1).contains(0) && !KeyRange(1).contains(1) && !KeyRange(1).contains(least));
  constexpr KeyRange some(-3, 6);
  static_assert(some.contains(-3) && some.contains(6) && !some.contains(7) && !some.contains(-4) && some.last() == 6);
  static_assert(some.folded(7) == -3 && some.folded(16) == 6 && some.folded(5) == 5);
  static_assert(some.contains(some.folded(least)) && some.contains(some.folded(most)));

  Batch batch = two_features_of_three_samples();
  batch.indices[2] = least;
  batch.indices[6] = 7;
  EXPECT_NO_THROW(check_batch(batch, std::vector{KeyRange::all(), KeyRange(-3, 9)}));
  try {
    check_batch(batch, std::vector{KeyRange::all(), KeyRange(-3, 6)});
    ADD_FAILURE() << "7 is behind the last key";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "batch: id 7 of feature 1, sample 0 is outside the keys -3 to 6 of its table");
  }
}

TEST(Batch, RefusesWeightsThatAreNotFinite) {
  Batch batch = two_features_of_three_samples();
  batch.weights[3] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(refusal_of(batch), "batch: weight inf of feature 1, sample 0 is not finite");
  batch.weights[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(refusal_of(batch).find("nan of feature 1, sample 0 is not finite"), std::string::npos);
}

}  // namespace
}  // namespace shardmark::reference
