// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "workloads/cases/options.hpp"

namespace shardmark {
namespace {

RunOptions with(const std::vector<std::string>& assignments) {
  RunOptions options;
  options.workload = load_workload("criteo-kaggle");
  apply_settings(options, assignments);
  return options;
}

TEST(Options, SettingsReachTheirPlace) {
  const RunOptions options =
      with({"seed=5", "beta1=0.75", "weight_decay_mode=decoupled", "hotness=3", "dim=8", "learning_rate=0.25",
            "ids.alpha=1.2", "ids.shuffled=true", "fault=route", "batches=2"});
  EXPECT_EQ(5u, options.seed);
  EXPECT_EQ(0.75F, options.workload.tables.front().optimizer.beta1);
  EXPECT_EQ(WeightDecay::decoupled, options.workload.tables.back().optimizer.weight_decay_mode);
  EXPECT_EQ(3, options.workload.features.front().hotness);
  EXPECT_EQ(8, options.workload.tables.back().dim);
  EXPECT_EQ(0.25F, options.workload.tables.back().optimizer.learning_rate);
  EXPECT_EQ(1.2, options.workload.ids.alpha);
  EXPECT_TRUE(options.workload.ids.shuffled);
  EXPECT_EQ(Fault::route, options.fault);
  EXPECT_EQ(2, options.batches);
}

TEST(Options, ExactModeMakesRatesPowersOfTwoAndValuesMultiplesOfOneUnit) {
  const RunOptions options = with({"learning_rate=0.01", "exact=true"});
  EXPECT_EQ(0x1p-7F, options.workload.tables.front().optimizer.learning_rate);
  EXPECT_EQ(0x1p-7F * options.gradients().unit, options.row_values().unit);
  EXPECT_EQ(0.0F, with({}).row_values().unit);
}

TEST(Options, BadSettingsAreNamed) {
  for (const char* text : {"seed", "seed=", "seed=x", "seed=-1", "seed=1.5", "exact=yes", "hotness=-1", "dim=0",
                           "weight_decay_mode=l1", "nonsense=1", "ids.alpha=nan", "learning_rate=-1"}) {
    try {
      with({text});
      ADD_FAILURE() << text << " was accepted";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(std::string(text).substr(0, std::string(text).find('='))),
                std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace shardmark
