// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "reference/tensor_train/contraction.hpp"
#include "reference/tensor_train/initial_cores.hpp"

namespace shardmark::reference {
namespace {

using Cores = std::vector<std::vector<float>>;

Table table_of(std::int64_t rows, std::int64_t dim, TensorTrain requested) {
  return {.name = "x", .rows = rows, .dim = dim, .storage = Storage::tt, .tensor_train = std::move(requested)};
}

Cores cores_of(const Table& table, const RowValues& values, std::int64_t number = 0) {
  const TensorTrainShape shape = tensor_train_shape(table);
  Cores cores;
  for (int t = 0; t < shape.cores; ++t) cores.push_back(initial_core(table, shape, number, t, values));
  return cores;
}

std::vector<double> row_of(const TensorTrainShape& shape, const Cores& cores, std::int64_t row) {
  const auto digits = shape.digits(row);
  std::array<std::vector<double>, TensorTrainShape::most_cores> entries;
  Slices slices;
  for (int t = 0; t < shape.cores; ++t) {
    const std::int64_t size = shape.slice_elements(t);
    const auto slice = std::span(cores[t]).subspan(digits[t] * size, size);
    entries[t].assign(slice.begin(), slice.end());
    slices[t] = entries[t];
  }
  RowContraction contraction(shape);
  const auto values = contraction.row(slices);
  return {values.begin(), values.end()};
}

struct Moments {
  double mean = 0.0, variance = 0.0;
};

template <class Values>
Moments moments_of(const Values& values) {
  double sum = 0.0, squares = 0.0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(values.size());
  return {sum / count, squares / count - sum / count * sum / count};
}

/// Of so many entries of the table, of one random column in each of random rows.
std::vector<double> sampled_entries(const Table& table, const Cores& cores, int count, std::mt19937_64& random) {
  const TensorTrainShape shape = tensor_train_shape(table);
  std::vector<double> entries;
  for (int i = 0; i < count; ++i) {
    const auto row = row_of(shape, cores, static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(table.rows)));
    entries.insert(entries.end(), row.begin(), row.end());
  }
  return entries;
}

TEST(InitialCores, ScaledEntriesHaveTheRequestedVariance) {
  const std::vector<TensorTrain> shapes{
      {.cores = 2, .ranks = {7}},       {.cores = 3, .ranks = {8, 8}},       {.cores = 3, .ranks = {5, 17}},
      {.cores = 4, .ranks = {3, 9, 6}}, {.cores = 5, .ranks = {4, 6, 5, 3}}, {.cores = 6, .ranks = {4, 5, 6, 5, 4}},
  };
  for (TensorTrain requested : shapes)
    for (const double variance : {0.0, 1.0 / 3e6}) {
      requested.variance = variance;
      const Table table = table_of(1'000'000, 64, requested);
      const double wanted = variance > 0.0 ? variance : 0.05 * 0.05 / 3.0;
      // Entries that share slices are correlated, so the mean is over several draws of the cores.
      std::vector<double> entries;
      for (std::uint64_t seed = 1; seed <= 24; ++seed) {
        std::mt19937_64 random(seed);
        const auto of_seed = sampled_entries(table, cores_of(table, {.seed = seed, .scale = 0.05F}), 100, random);
        entries.insert(entries.end(), of_seed.begin(), of_seed.end());
      }
      const Moments moments = moments_of(entries);
      EXPECT_NEAR(moments.variance / wanted, 1.0, 0.15) << requested.cores << " cores, seeds 1 to 24";
      EXPECT_NEAR(moments.mean / std::sqrt(wanted), 0.0, 0.05) << requested.cores << " cores, seeds 1 to 24";
    }
}

TEST(InitialCores, HalfWidthsAndUpperEndsAreTheGoldenOnes) {
  const auto golden = nlohmann::json::parse(std::ifstream(SHARDMARK_TEST_DATA "/tt_shapes.json"));
  for (const auto& each : golden["initialisers"]["cases"]) {
    const auto ranks = each["ranks"].get<std::vector<std::int64_t>>();
    const std::int64_t rows = each["rows"];
    Table table = table_of(rows, each["dim"], {.cores = std::ssize(ranks) + 1, .ranks = ranks});
    table.tensor_train.variance = 1.0 / (3.0 * static_cast<double>(rows));
    const auto scaled = cores_of(table, {})[1];
    EXPECT_NEAR(*std::ranges::max_element(scaled) / each["core_uniform_half_width"].get<double>(), 1.0, 1e-3) << each;
    EXPECT_NEAR(*std::ranges::min_element(scaled) / each["core_uniform_half_width"].get<double>(), -1.0, 1e-3) << each;
    EXPECT_NEAR(std::sqrt(moments_of(scaled).variance) / each["core_std"].get<double>(), 1.0, 0.01) << each;
    table.tensor_train.initializer = CoreInitializer::uniform;
    const Cores uniform = cores_of(table, {});
    EXPECT_NEAR(*std::ranges::max_element(uniform[1]) / each["published_uniform_upper"].get<double>(), 1.0, 1e-3);
    EXPECT_GE(*std::ranges::min_element(uniform[1]), 0.0F);
    std::mt19937_64 random(1);
    const double mean = moments_of(sampled_entries(table, uniform, 400, random)).mean;
    EXPECT_NEAR(mean / each["published_uniform_entry_mean"].get<double>(), 1.0, 0.06) << each << " seed 1";
  }
}

TEST(InitialCores, NormalIgnoresTheRanks) {
  const Table table = table_of(10'000, 64, {.ranks = {8, 8}, .initializer = CoreInitializer::normal});
  for (const auto& core : cores_of(table, {.seed = 3})) {
    const Moments moments = moments_of(core);
    EXPECT_NEAR(moments.variance * 1e4, 1.0, 0.1) << "seed 3";
    EXPECT_NEAR(moments.mean * 1e2, 0.0, 0.1) << "seed 3";
  }
  // The fourth moment tells a normal distribution from others of its variance.
  double fourth = 0.0;
  const auto core = cores_of(table_of(1'000'000, 64, {.initializer = CoreInitializer::normal}), {.seed = 4})[1];
  for (const float x : core) fourth += std::pow(1e3 * static_cast<double>(x), 4.0);
  EXPECT_NEAR(fourth / static_cast<double>(core.size()), 3.0, 0.1) << "seed 4";
}

TEST(InitialCores, ApproxNormalIsTheTailsAndFarTooWide) {
  for (const std::int64_t rank : {8, 32}) {
    const Table table = table_of(1'000'000, 64, {.ranks = {rank}, .initializer = CoreInitializer::approx_normal});
    const Cores cores = cores_of(table, {.seed = 5});
    const double scale = std::pow(3e6, -1.0 / 6.0);
    EXPECT_NEAR(moments_of(cores[1]).variance / (scale * scale), 5.746, 0.05) << "seed 5";
    EXPECT_NEAR(moments_of(cores[1]).mean / scale, 0.0, 0.05) << "seed 5";
    for (const float x : cores[1]) ASSERT_GE(std::abs(static_cast<double>(x)) / scale, 2.0 - 1e-6);
    std::mt19937_64 random(5);
    const double spread = std::sqrt(moments_of(sampled_entries(table, cores, 500, random)).variance * 3e6);
    EXPECT_NEAR(spread / (rank == 8 ? 110.0 : 440.0), 1.0, 0.05) << "seed 5";
  }
}

TEST(InitialCores, ApproxUniformIsNearlyUniform) {
  const Table table = table_of(1'000'000, 64, {.ranks = {32, 32}, .initializer = CoreInitializer::approx_uniform});
  const Cores cores = cores_of(table, {.seed = 6});
  EXPECT_NEAR(moments_of(cores[0]).mean * 10.0 * std::sqrt(32.0), 1.0, 0.01) << "seed 6";
  EXPECT_NEAR(std::sqrt(moments_of(cores[0]).variance) * 10.0, 0.01, 0.001) << "seed 6";
  // One tooth per slice and column, at an even last index of the second core and an odd first one of the third.
  const TensorTrainShape shape = tensor_train_shape(table);
  for (std::int64_t i = 0; i < std::ssize(cores[2]); ++i)
    if (std::abs(cores[2][i]) * 10.0F > 0.06F) {
      EXPECT_EQ(i / (shape.q[2] * shape.r[3]) % shape.r[2] % 2, 1) << i;
    }
  std::mt19937_64 random(6);
  auto entries = sampled_entries(table, cores, 1000, random);
  for (double& entry : entries) entry *= 1e3;  // now nearly U(-1, 1)
  EXPECT_NEAR(moments_of(entries).mean, 0.0, 0.05) << "seed 6";
  EXPECT_NEAR(moments_of(entries).variance, 1.0 / 3.0, 0.04) << "seed 6";
  for (const double below : {-0.75, -0.5, 0.0, 0.5, 0.75}) {
    const auto count = static_cast<double>(std::ranges::count_if(entries, [&](double entry) { return entry < below; }));
    EXPECT_NEAR(count / static_cast<double>(entries.size()), 0.5 * (1.0 + below), 0.05) << below << ", seed 6";
  }
}

TEST(InitialCores, EveryEntryHasItsOwnKey) {
  for (const auto& choice : core_initializers) {
    const Table table = table_of(1000, 8, {.ranks = {4, 4}, .initializer = choice.value});
    const Cores cores = cores_of(table, {.seed = 7});
    EXPECT_EQ(cores, cores_of(table, {.seed = 7})) << choice.name;
    EXPECT_NE(cores[1], cores_of(table, {.seed = 8})[1]) << choice.name;
    EXPECT_NE(cores[1], cores_of(table, {.seed = 7}, 1)[1]) << choice.name;
    std::vector<float> sorted = cores[1];
    std::ranges::sort(sorted);
    EXPECT_EQ(std::ranges::adjacent_find(sorted), sorted.end()) << choice.name;
    EXPECT_NE(std::vector(cores[0].begin(), cores[0].begin() + 8), std::vector(cores[1].begin(), cores[1].begin() + 8));
  }
}

TEST(InitialCores, ExactModeHasThreeValuesAndRowsOfTheUsualSize) {
  for (std::int64_t d = 2; d <= TensorTrainShape::most_cores; ++d) {
    const Table table = table_of(100'000, 64, {.cores = d, .ranks = {6}});
    const RowValues values{.seed = 9, .unit = 0x1p-10F};
    const Cores cores = cores_of(table, values);
    const float unit = exact_core_unit(tensor_train_shape(table), values.unit);
    EXPECT_EQ(unit, std::exp2(std::round(std::log2(unit))));
    for (const auto& core : cores)
      for (const float x : core) ASSERT_TRUE(x == 0.0F || std::abs(x) == unit);
    std::mt19937_64 random(9);
    const double spread = std::sqrt(moments_of(sampled_entries(table, cores, 500, random)).variance);
    const double usual = 64.0 / std::sqrt(3.0) * 0x1p-10;
    EXPECT_LT(std::abs(std::log2(spread / usual)), 0.5 * static_cast<double>(d) + 0.3) << d << " cores, seed 9";
  }
}

}  // namespace
}  // namespace shardmark::reference
