// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "datasets/criteo_generate.hpp"
#include "datasets/data_statistics.hpp"
#include "datasets/test/fixture.hpp"

namespace shardmark::datasets {
namespace {

class CriteoGenerate : public DatasetTest {
 protected:
  std::string generate(const std::string& name, const CriteoRecipe& recipe) {
    generate_criteo(path(name), recipe, quiet);
    return path(name);
  }
};

TEST_F(CriteoGenerate, SameSeedSameBytes) {
  const std::string once = slurp(generate("a.tsv", {.samples = 3000, .seed = 7}));
  EXPECT_TRUE(slurp(generate("b.tsv", {.samples = 3000, .seed = 7})) == once);
  EXPECT_TRUE(slurp(generate("c.tsv", {.samples = 3000, .seed = 8})) != once);
  EXPECT_TRUE(once.starts_with(slurp(generate("d.tsv", {.samples = 1000, .seed = 7}))));
}

TEST_F(CriteoGenerate, FirstLineIsPinned) {
  const std::string text = slurp(generate("a.tsv", {.samples = 1, .seed = 1}));
  EXPECT_EQ(text, slurp(std::string(SHARDMARK_TEST_DATA) + "/generated_seed1.tsv"));
}

TEST_F(CriteoGenerate, RatesAndRangesFollowTheTables) {
  constexpr std::int64_t samples = 40000;
  CriteoReader reader(generate("a.tsv.zst", {.samples = samples}));
  const DataStatistics statistics = inspect(reader, quiet);
  ASSERT_EQ(statistics.samples, samples);
  // Five standard deviations of a rate p over n samples.
  const auto near = [](std::int64_t count, double p) {
    EXPECT_NEAR(static_cast<double>(count) / samples, p, 5 * std::sqrt(p * (1 - p) / samples));
  };
  near(statistics.positives, 0.25622);
  for (std::size_t f = 0; f < criteo_fields; ++f) {
    SCOPED_TRACE(criteo_field_name(static_cast<int>(f)));
    const ColumnStatistics& column = statistics.columns[f];
    near(column.missing, static_cast<double>(kaggle_statistics::missing[f]) / kaggle_statistics::samples);
    EXPECT_EQ(column.values + column.missing, samples);
    if (f < criteo_dense) {
      EXPECT_EQ(column.minimum, f == 1 ? -2.0 : 0.0);
      EXPECT_LE(column.maximum, static_cast<double>(kaggle_statistics::maximum[f]));
      EXPECT_GE(column.maximum,
                std::min(kaggle_statistics::mean[f] * 10, static_cast<double>(kaggle_statistics::maximum[f])));
    } else {
      const std::int64_t rows = criteo_cardinalities[0].rows[f - criteo_dense];
      EXPECT_LE(column.unique, rows);
      if (rows < 30) {
        EXPECT_EQ(column.unique, rows);
      }
    }
  }
}

TEST_F(CriteoGenerate, HottestIdHasThePowerLawShare) {
  constexpr std::int64_t samples = 40000;
  CriteoRecipe recipe{.samples = samples, .seed = 3, .alpha = 1.05};
  recipe.rows.fill(1000000);
  CriteoReader reader(generate("a.tsv", recipe));
  const std::uint32_t hottest = criteo_value(0, 0);
  std::int64_t hits = 0;
  CriteoBlock block;
  while (reader.next(block)) hits += std::count(block.categories[0].begin(), block.categories[0].end(), hottest);
  EXPECT_NEAR(static_cast<double>(hits) / samples, 0.0683, 0.007);  // P(0) of N = 1e6, alpha 1.05
}

TEST(PowerLaw, EndsAndKnownShares) {
  for (const double alpha : {0.0, 0.5, 1.0, 1.05, 2.0}) {
    for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{3}, std::int64_t{1000000}, std::int64_t{1} << 32}) {
      if (alpha == 2.0 && rows > 1000000) continue;  // the last ids are beyond the resolution of u
      const PowerLaw law(rows, alpha);
      EXPECT_EQ(law(0.0), 0) << alpha << " " << rows;
      EXPECT_EQ(law(0x1.fffffffffffffp-1), rows - 1) << alpha << " " << rows;
    }
  }
  // Uniform: 4 rows, u = 1/2 is y = 1 + 4/2 = 3, id 2. Alpha 1: 8 rows, y = 9^(1/2) = 3, id 2 (or 1 by rounding).
  EXPECT_EQ(PowerLaw(4, 0.0)(0.5), 2);
  EXPECT_EQ(PowerLaw(8, 1.0)(0.51), 2);
  EXPECT_EQ(PowerLaw(8, 1.0)(0.49), 1);
}

TEST(CriteoValue, IsInjectivePerColumnAndKeepsNoOrder) {
  std::set<std::uint32_t> seen;
  int rising = 0;
  for (std::uint32_t id = 0; id < 100000; ++id) {
    seen.insert(criteo_value(3, id));
    rising += criteo_value(3, id + 1) > criteo_value(3, id) ? 1 : 0;
  }
  EXPECT_EQ(seen.size(), 100000U);
  EXPECT_NEAR(rising / 100000.0, 0.5, 0.02);
  EXPECT_NE(criteo_value(0, 0), criteo_value(1, 0));
}

TEST_F(CriteoGenerate, RefusesSenselessRecipes) {
  EXPECT_CONTAINS(error_of([&] { generate("a.tsv", {.samples = 0}); }), "at least 1 sample");
  EXPECT_CONTAINS(error_of([&] { generate("a.tsv", {.samples = 1, .alpha = -1}); }), "alpha");
  EXPECT_CONTAINS(error_of([&] { generate("a.tsv", {.samples = 1, .alpha = NAN}); }), "alpha");
  CriteoRecipe recipe{.samples = 1};
  recipe.rows[4] = 0;
  EXPECT_CONTAINS(error_of([&] { generate("a.tsv", recipe); }), "column C5 needs 1 to 2^32 ids, got 0");
  EXPECT_TRUE(files().empty());
}

}  // namespace
}  // namespace shardmark::datasets
