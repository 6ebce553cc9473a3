// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reference/number.hpp"
#include "reference/optimizer.hpp"
#include "reference/pooling.hpp"
#include "reference/size.hpp"

namespace shardmark::reference {
namespace {

template <class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no InputError";
}

TEST(Choices, PoolingsStandAtTheirValueAndAreFoundByName) {
  ASSERT_EQ(poolings.size(), 5U);
  for (std::size_t i = 0; i < poolings.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(poolings[i].value), i) << poolings[i].name;
    EXPECT_EQ(named<Pooling>(poolings[i].name), poolings[i].value);
    EXPECT_EQ(name_of(poolings[i].value), poolings[i].name);
    EXPECT_FALSE(poolings[i].description.empty());
  }
  EXPECT_EQ(named<Pooling>("sqrtn"), Pooling::sqrtn);
}

TEST(Choices, OptimizersStandAtTheirValueAndAreFoundByName) {
  ASSERT_EQ(optimizers.size(), 11U);
  for (std::size_t i = 0; i < optimizers.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(optimizers[i].value), i) << optimizers[i].name;
    EXPECT_EQ(named<OptimizerKind>(optimizers[i].name), optimizers[i].value);
    EXPECT_EQ(name_of(optimizers[i].value), optimizers[i].name);
  }
  EXPECT_EQ(named<OptimizerKind>("rowwise_adagrad"), OptimizerKind::rowwise_adagrad);
}

TEST(Choices, UnknownNameNamesTheValidOnes) {
  EXPECT_EQ(message_of([] { named<Pooling>("average"); }),
            "unknown pooling 'average'; valid: none, sum, mean, sqrtn, max");
  EXPECT_EQ(message_of([] { named<OptimizerKind>(""); }),
            "unknown optimizer ''; valid: sgd, momentum, nesterov, adagrad, rowwise_adagrad, rmsprop, adam, "
            "rowwise_adam, ftrl, lamb, none");
  EXPECT_EQ(message_of([] { named<Pooling>("Sum"); }),
            "unknown pooling 'Sum'; did you mean 'sum'? valid: none, sum, mean, sqrtn, max");
}

TEST(Choices, NearestNameIsWithinAThirdOfTheLetters) {
  const std::vector<std::string_view> names{"sgd", "adagrad", "rowwise_adagrad", "adam", "pairwise", "bruck"};
  EXPECT_EQ(nearest_name("adagard", names), "adagrad");    // swapped
  EXPECT_EQ(nearest_name("adagrd", names), "adagrad");     // missing
  EXPECT_EQ(nearest_name("adamm", names), "adam");         // too many
  EXPECT_EQ(nearest_name("pairvise", names), "pairwise");  // wrong
  EXPECT_EQ(nearest_name("RowWise-Adagrad", names), "rowwise_adagrad");
  EXPECT_EQ(nearest_name("rowise_adgrad", names), "rowwise_adagrad");
  EXPECT_EQ(nearest_name("sg", names), "sgd");
  for (const char* far : {"", "s", "xyz", "linear", "ad"}) EXPECT_EQ(nearest_name(far, names), "") << far;
  EXPECT_EQ(nearest_name("sgd", {}), "");
}

TEST(Choices, NearestNameMayHoldTheOtherFromThreeLettersOn) {
  EXPECT_EQ(nearest_name("alltoall", {"mpi_alltoallv", "pairwise"}), "mpi_alltoallv");
  EXPECT_EQ(nearest_name("criteo", {"criteo-terabyte", "criteo-kaggle"}), "criteo-kaggle");  // the fewest other letters
  EXPECT_EQ(nearest_name("dimension", {"ids.alpha", "dim"}), "dim");
  EXPECT_EQ(nearest_name("pool", {"pooling", "poor"}), "poor");  // edits come first
  EXPECT_EQ(nearest_name("al", {"mpi_alltoallv"}), "");
}

TEST(Choices, TheFirstOfTwoEquallyNearNamesIsSuggested) {
  EXPECT_EQ(nearest_name("bat", {"cat", "hat"}), "cat");
  EXPECT_EQ(nearest_name("hot", {"cat", "hat"}), "hat");
}

TEST(Choices, StateBesideARow) {
  EXPECT_EQ(state_per_row(OptimizerKind::sgd, 16), 0);
  EXPECT_EQ(state_per_row(OptimizerKind::adagrad, 16), 16);
  EXPECT_EQ(state_per_row(OptimizerKind::rowwise_adagrad, 16), 1);
  EXPECT_EQ(state_per_row(OptimizerKind::rowwise_adam, 16), 17);
  EXPECT_EQ(state_per_row(OptimizerKind::lamb, 16), 32);
  EXPECT_EQ(state_per_row(OptimizerKind::adagrad, std::int64_t{1} << 40), std::int64_t{1} << 40);
}

TEST(Choices, OnlySumsOfSquaresStartAtTheInitialAccumulator) {
  const auto first = [](OptimizerKind kind, std::int64_t at) {
    return initial_state({.kind = kind, .initial_accumulator = 0.5F}, 4, at);
  };
  for (const auto kind : {OptimizerKind::adagrad, OptimizerKind::rowwise_adagrad, OptimizerKind::ftrl})
    EXPECT_EQ(first(kind, 0), 0.5F);
  EXPECT_EQ(first(OptimizerKind::ftrl, 3), 0.5F);
  EXPECT_EQ(first(OptimizerKind::ftrl, 4), 0.0F);  // z
  for (const auto kind : {OptimizerKind::momentum, OptimizerKind::rmsprop, OptimizerKind::adam, OptimizerKind::lamb})
    EXPECT_EQ(first(kind, 0), 0.0F);
}

TEST(Number, IsTheWholeText) {
  EXPECT_EQ(number_in<int>("-12"), -12);
  EXPECT_EQ(number_in<double>("1e3"), 1000.0);
  for (const char* text : {"", " 1", "1 ", "1x", "x", "99999999999"})
    EXPECT_EQ(number_in<int>(text), std::nullopt) << text;
}

TEST(Number, OfBytesMayHaveAUnit) {
  for (const auto& [text, bytes] : {std::pair<const char*, std::int64_t>{"1", 1},
                                    {"64KiB", 65536},
                                    {"64kib", 65536},
                                    {"1.5 GB", 1500000000},
                                    {"80g", 80000000000},
                                    {"2Ti", std::int64_t{2} << 40},
                                    {"1e6B", 1000000}})
    EXPECT_EQ(bytes_in(text), bytes) << text;
  for (const char* text : {"", "GB", "1.5", "1.5B", "8x", "8GBB", "8Gb/s", "1e30"})
    EXPECT_EQ(bytes_in(text), std::nullopt) << text;
}

}  // namespace
}  // namespace shardmark::reference
