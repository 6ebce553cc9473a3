// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "datasets/tt_svd.hpp"
#include "reference/error.hpp"
#include "reference/tensor_train/contraction.hpp"

namespace shardmark::datasets {
namespace {

using Floats = std::vector<float>;

Table table_of(std::int64_t rows, std::int64_t dim, TensorTrain requested) {
  return {.name = "x", .rows = rows, .dim = dim, .storage = Storage::tt, .tensor_train = std::move(requested)};
}

Floats random_values(const Table& table, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  Floats values(static_cast<std::size_t>(table.rows * table.dim));
  for (float& value : values) value = normal(random);
  return values;
}

/// [shape.rows()][dim]
std::vector<double> rows_of(const DecomposedTable& tt) {
  std::vector<std::vector<double>> cores;
  for (const auto& core : tt.cores) cores.emplace_back(core.begin(), core.end());
  return reference::full_table(tt.shape, cores);
}

/// |table - cores| / |table|, entry by entry, over the rows and over the padding, which should be 0.
double measured_error(const Table& table, const Floats& values, const DecomposedTable& tt) {
  const std::vector<double> rows = rows_of(tt);
  double all = 0.0, wrong = 0.0;
  for (std::int64_t row = 0; row < tt.shape.rows(); ++row)
    for (std::int64_t column = 0; column < table.dim; ++column) {
      const double wanted = row < table.rows ? static_cast<double>(values[row * table.dim + column]) : 0.0;
      all += wanted * wanted;
      wrong += std::pow(rows[row * table.dim + column] - wanted, 2.0);
    }
  return std::sqrt(wrong / all);
}

TEST(TtSvd, FullRanksRecoverTheTable) {
  for (const auto& [rows, dim, cores] : std::vector<std::array<std::int64_t, 3>>{
           {12, 6, 2}, {60, 12, 3}, {71, 6, 3}, {48, 10, 4}, {64, 12, 5}, {70, 8, 6}, {5, 7, 3}}) {
    const Table table = table_of(rows, dim, {.cores = cores, .compression = 1e-6});
    const Floats values = random_values(table, 11);
    const DecomposedTable tt = tt_svd(table, values);
    EXPECT_LT(tt.relative_error, 1e-12) << rows << " x " << dim << ", " << cores << " cores, seed 11";
    EXPECT_LT(measured_error(table, values, tt), 1e-6) << rows << " x " << dim << ", " << cores << " cores, seed 11";
  }
}

TEST(TtSvd, TheErrorIsThatOfWhatWasCutOff) {
  for (const std::vector<std::int64_t>& ranks : {std::vector<std::int64_t>{1, 1}, {2, 5}, {5, 2}, {6, 7}, {7, 3}}) {
    const Table table = table_of(72, 12, {.row_shape = {3, 4, 6}, .dim_shape = {3, 2, 2}, .ranks = ranks});
    const Floats values = random_values(table, 12);
    const DecomposedTable tt = tt_svd(table, values);
    EXPECT_GT(tt.relative_error, 0.1);
    EXPECT_NEAR(measured_error(table, values, tt), tt.relative_error, 1e-6) << "seed 12";
  }
}

TEST(TtSvd, MoreRankIsNeverWorseAndEnoughOfItIsExact) {
  // A table that is a tt of ranks 3 and 4.
  const Table made = table_of(60, 8, {.ranks = {3, 4}});
  DecomposedTable tt{.shape = tensor_train_shape(made), .cores = {}};
  std::mt19937_64 random(13);
  std::normal_distribution<float> normal;
  for (int t = 0; t < 3; ++t) {
    auto& core = tt.cores.emplace_back(static_cast<std::size_t>(tt.shape.p[t] * tt.shape.slice_elements(t)));
    for (float& entry : core) entry = normal(random);
  }
  const std::vector<double> rows = rows_of(tt);
  const Floats values(rows.begin(), rows.begin() + made.rows * made.dim);
  double before = 1.0;
  for (const std::int64_t rank : {1, 2, 3, 4}) {
    const DecomposedTable found = tt_svd(table_of(60, 8, {.ranks = {std::min<std::int64_t>(rank, 3), rank}}), values);
    EXPECT_LE(found.relative_error, before);
    before = found.relative_error;
  }
  EXPECT_LT(before, 1e-6) << "seed 13";
}

TEST(TtSvd, ATableOfZerosHasNoError) {
  const Table table = table_of(10, 4, {.cores = 2, .ranks = {2}});
  EXPECT_EQ(tt_svd(table, Floats(40)).relative_error, 0.0);
}

TEST(TtSvd, BadInputIsNamed) {
  const Table table = table_of(10, 4, {.cores = 2, .ranks = {2}});
  EXPECT_THROW(tt_svd(table, Floats(39)), InputError);
  EXPECT_THROW(tt_svd(table_of(10, 4, {.cores = 2, .ranks = {99}}), Floats(40)), InputError);
  EXPECT_THROW(tt_svd(table, Floats(40, NAN)), InputError);
}

}  // namespace
}  // namespace shardmark::datasets
