// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "reference/error.hpp"
#include "reference/tensor_train/shape.hpp"
#include "reference/tensor_train/stored_cores.hpp"

namespace shardmark::reference {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Kept, so that a loop over a part of it does not outlive it.
const nlohmann::json& golden() {
  static const auto known = nlohmann::json::parse(std::ifstream(SHARDMARK_TEST_DATA "/tt_shapes.json"));
  return known;
}

Table benchmark() {
  return {.name = "hot",
          .rows = 11'000'000,
          .dim = 64,
          .storage = Storage::tt,
          .tensor_train = {.row_shape = {200, 220, 250}, .dim_shape = {4, 4, 4}, .ranks = {32, 32}}};
}

Numbers ranks_of(const Table& table) {
  const TensorTrainShape shape = tensor_train_shape(table);
  return {shape.r.begin() + 1, shape.r.begin() + shape.cores};
}

double ratio_of(const Table& table) {
  return static_cast<double>(table.rows * table.dim) / static_cast<double>(tensor_train_shape(table).parameters());
}

TEST(TensorTrainShape, RowShapesAreThePublishedOnes) {
  for (const auto& each : golden()["row_shapes"]) {
    const Numbers shape = rounded_up_shape(each["n"], each["cores"]);
    EXPECT_EQ(shape, each["shape"].get<Numbers>()) << each;
    EXPECT_EQ(exact_shape(each["rounded_to"], each["cores"]), shape) << each;
  }
}

TEST(TensorTrainShape, ColumnsAreNeverPadded) {
  int refused = 0;
  for (const auto& each : golden()["dim_shapes"]) {
    EXPECT_EQ(exact_shape(each["dim"], each["cores"]), each["exact"].get<Numbers>()) << each;
    EXPECT_EQ(rounded_up_shape(each["dim"], each["cores"]), each["round_up"].get<Numbers>()) << each;
    const Table table{.name = "x", .rows = 1000, .dim = each["dim"], .tensor_train = {.cores = each["cores"]}};
    EXPECT_EQ(tensor_train_shape(table).dim(), table.dim);
    Table padded = table;
    padded.tensor_train.dim_shape = each["round_up"].get<Numbers>();
    if (each["round_up_valid"].get<bool>()) continue;
    EXPECT_THROW(tensor_train_shape(padded), InputError) << each;
    ++refused;
  }
  EXPECT_EQ(refused, 6);
}

/// All ways to write n as so many ascending factors above 1.
void each_product(std::int64_t n, int factors, std::int64_t least, Numbers& chosen,
                  const std::function<void(const Numbers&)>& visit) {
  if (factors == 1 && n >= least) {
    chosen.push_back(n);
    visit(chosen);
    chosen.pop_back();
  }
  for (std::int64_t x = least; factors > 1 && x <= n / x; ++x) {
    if (n % x != 0) continue;
    chosen.push_back(x);
    each_product(n / x, factors - 1, x, chosen, visit);
    chosen.pop_back();
  }
}

TEST(TensorTrainShape, ExactShapesAreTheMostEvenOfAll) {
  const auto entropy = [](const Numbers& x) {
    double sum = 0.0, result = 0.0;
    for (const std::int64_t each : x) sum += static_cast<double>(each);
    for (const std::int64_t each : x)
      result -= static_cast<double>(each) / sum * std::log(static_cast<double>(each) / sum);
    return result;
  };
  for (const std::int64_t n : {64, 720, 997, 1001, 5040, 30030, 65536, 98280, 110880})
    for (int factors = 2; factors <= TensorTrainShape::most_cores; ++factors) {
      const Numbers shape = exact_shape(n, factors);
      EXPECT_EQ(std::ssize(shape), factors);
      std::int64_t product = 1;
      for (const std::int64_t factor : shape) product *= factor;
      EXPECT_EQ(product, n);
      Numbers chosen;
      each_product(n, factors, 2, chosen, [&](const Numbers& other) {
        EXPECT_GE(entropy(shape), entropy(other) - 1e-12) << n << ", " << factors;
      });
    }
}

TEST(TensorTrainShape, NumbersWithManyDivisorsAreNoTrouble) {
  EXPECT_EQ(exact_shape(std::int64_t{1} << 24, 6), Numbers(6, 16));
  EXPECT_EQ(exact_shape(10'000'000, 6), (Numbers{10, 20, 10, 20, 10, 25}));
  for (const std::int64_t n : {10'000'000L, 735'134'400L, 963'761'198'400L})
    for (int factors = 2; factors <= 6; ++factors) EXPECT_EQ(std::ssize(rounded_up_shape(n, factors)), factors);
  EXPECT_EQ(exact_shape(1, 3), (Numbers{1, 1, 1}));
  EXPECT_EQ(rounded_up_shape(1, 2), (Numbers{1, 1}));
  EXPECT_EQ(exact_shape(5040, 5).size(), 5U);
}

TEST(TensorTrainShape, CostsAndDigitsAreThePublishedOnes) {
  const auto& known = golden();
  for (const auto& each : known["cost"]) {
    const Table table{
        .name = "x", .rows = each["rows"], .dim = each["dim"], .tensor_train = {.ranks = each["ranks"].get<Numbers>()}};
    const TensorTrainShape shape = tensor_train_shape(table);
    EXPECT_EQ(shape.parameters(), each["parameters"].get<std::int64_t>()) << each;
    for (int t = 0; t < 3; ++t) {
      EXPECT_EQ(shape.p[t], each["p"][t].get<std::int64_t>());
      EXPECT_EQ(shape.q[t], each["q"][t].get<std::int64_t>());
    }
    EXPECT_NEAR(ratio_of(table), each["compression"].get<double>(), 5e-4);
  }
  const TensorTrainShape shape = tensor_train_shape(benchmark());
  for (const auto& each : known["index_digits"]["examples"]) {
    const auto digits = shape.digits(each["index"]);
    EXPECT_EQ(Numbers(digits.begin(), digits.begin() + 3), each["digits"].get<Numbers>()) << each;
  }
}

TEST(TensorTrainShape, CoresAreTablesOfSlices) {
  for (const auto& each : golden()["update_geometry_defect"]["cases"]) {
    const auto p = each["p"].get<Numbers>(), q = each["q"].get<Numbers>();
    Table table{.name = "x", .rows = 1, .dim = 1, .tensor_train = {.cores = std::ssize(p)}};
    for (std::size_t t = 0; t < p.size(); ++t) table.rows *= p[t], table.dim *= q[t];
    table.tensor_train.row_shape = p;
    table.tensor_train.dim_shape = q;
    table.tensor_train.ranks = each["ranks"].get<Numbers>();
    const auto cores = core_tables(table);
    ASSERT_EQ(cores.size(), p.size());
    for (std::size_t t = 0; t < p.size(); ++t) {
      EXPECT_EQ(cores[t].rows, p[t]);
      EXPECT_EQ(cores[t].dim, each["slice_elements"][t].get<std::int64_t>());
    }
  }
}

TEST(TensorTrainShape, ChosenRanksStayWithinTheUnfolding) {
  Table table{.name = "x", .rows = 24, .dim = 8};  // p 2,3,4 and q 2,2,2
  EXPECT_EQ(ranks_of(table), (Numbers{4, 8}));
  table.tensor_train.cores = 2;  // p 5,6 and q 2,4
  EXPECT_EQ(ranks_of(table), (Numbers{10}));
  table = {.name = "x", .rows = 1'000'000, .dim = 64, .tensor_train = {.cores = 6}};
  EXPECT_EQ(ranks_of(table), (Numbers{20, 32, 32, 32, 20}));
}

TEST(TensorTrainShape, OneRankIsForAll) {
  Table table = benchmark();
  table.tensor_train.ranks = {16};
  EXPECT_EQ(ranks_of(table), (Numbers{16, 16}));
}

TEST(TensorTrainShape, CompressionGivesTheLargestRankThatReachesIt) {
  for (const double wanted : {1.5, 30.0, 734.0, 5000.0}) {
    Table table = benchmark();
    table.tensor_train.ranks = {};
    table.tensor_train.compression = wanted;
    const Numbers ranks = ranks_of(table);
    EXPECT_GE(ratio_of(table), wanted);
    if (wanted == 734.0) {
      EXPECT_EQ(ranks, (Numbers{32, 32}));
    }
    const std::int64_t largest = *std::ranges::max_element(ranks);
    Table more = benchmark();
    more.tensor_train.ranks = {};
    for (const std::int64_t rank : ranks) more.tensor_train.ranks.push_back(rank == largest ? rank + 1 : rank);
    EXPECT_LT(ratio_of(more), wanted) << testing::PrintToString(ranks);
  }
}

TEST(TensorTrainShape, ErrorsNameTheTableAndTheNumbers) {
  const auto expect_error = [](auto change, const std::vector<std::string>& words) {
    Table table = benchmark();
    change(table, table.tensor_train);
    try {
      tensor_train_shape(table);
      ADD_FAILURE() << words.front() << " was accepted";
    } catch (const InputError& error) {
      for (const std::string& word : words)
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
      EXPECT_EQ(std::string(error.what()).find("table hot: "), 0U) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  };
  expect_error([](Table& t, TensorTrain&) { t.rows += 1; }, {"200,220,250", "11000000", "11000001"});
  expect_error([](Table& t, TensorTrain&) { t.dim = 65; }, {"4,4,4", "64", "65"});
  expect_error([](Table&, TensorTrain& a) { a.row_shape = {2, 3}; }, {"row shape 2,3", "2 numbers", "3 cores"});
  expect_error([](Table&, TensorTrain& a) { a.row_shape = {0, 3, 1}; }, {"row shape 0,3,1", "holds 0"});
  expect_error([](Table&, TensorTrain& a) { a.row_shape = {1L << 30, 1L << 30, 1L << 30}; }, {"64 bits"});
  expect_error(
      [](Table&, TensorTrain& a) {
        a.dim_shape = {2, 2, 2, 8};
      },
      {"dim shape 2,2,2,8", "4 numbers", "3 cores"});
  expect_error([](Table&, TensorTrain& a) { a.dim_shape = {-4, -4, 4}; }, {"dim shape -4,-4,4", "-4"});
  expect_error([](Table&, TensorTrain& a) { a.ranks = {1, 2, 3}; }, {"ranks 1,2,3", "3 numbers"});
  expect_error([](Table&, TensorTrain& a) { a.ranks = {0}; }, {"ranks 0", "at least 1"});
  expect_error([](Table&, TensorTrain& a) { a.ranks = {801, 32}; }, {"rank 801", "cores 0 and 1", "800"});
  expect_error([](Table&, TensorTrain& a) { a.ranks = {32, 1001}; }, {"rank 1001", "cores 1 and 2", "1000"});
  expect_error([](Table&, TensorTrain& a) { a.cores = 1; }, {"1 cores", "2 to 6"});
  expect_error([](Table&, TensorTrain& a) { a.cores = 7; }, {"7 cores", "2 to 6"});
  expect_error([](Table&, TensorTrain& a) { a.compression = 2.0; }, {"ranks 32,32", "compression 2"});
  const auto compressed = [](double ratio) {
    return [ratio](Table&, TensorTrain& a) {
      a.ranks = {};
      a.compression = ratio;
    };
  };
  expect_error(compressed(-1.0), {"compression -1"});
  expect_error(compressed(NAN), {"compression nan"});
  expect_error(compressed(1e6), {"compression 1e+06", "262687"});
  expect_error([](Table&, TensorTrain& a) { a.variance = -1.0; }, {"variance -1"});
  expect_error([](Table&, TensorTrain& a) { a.workspace_mib = 0; }, {"workspace MiB 0"});
  expect_error([](Table&, TensorTrain& a) { a.cache.rows = 11'000'001; }, {"11000001", "11000000"});
  expect_error([](Table&, TensorTrain& a) { a.cache.count_slots = -1; }, {"count slots -1"});
  expect_error([](Table&, TensorTrain& a) { a.cache.populate_every = 0; }, {"populates 0"});
  expect_error(
      [](Table& t, TensorTrain& a) {
        t.tensor_train = {.cores = 4};
        a.initializer = CoreInitializer::approx_uniform;
      },
      {"approx_uniform", "3 cores", "4"});
  expect_error(
      [](Table&, TensorTrain& a) {
        a.ranks = {2, 1};
        a.initializer = CoreInitializer::approx_uniform;
      },
      {"approx_uniform", "last rank", "1"});
}

}  // namespace
}  // namespace shardmark::reference
