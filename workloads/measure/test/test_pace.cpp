// SPDX-License-Identifier: Apache-2.0
// The pace of a machine from times of the same steps, and predictions at that pace.
#include <gtest/gtest.h>

#include "workloads/measure/pace.hpp"

namespace shardmark {
namespace {

constexpr auto lookup = static_cast<std::size_t>(StepPhase::lookup),
               update = static_cast<std::size_t>(StepPhase::update);

PaceTimes times(double lookup_then, double lookup_now, double update_then, double update_now) {
  PaceTimes result;
  result.then[lookup] = lookup_then;
  result.now[lookup] = lookup_now;
  result.then[update] = update_then;
  result.now[update] = update_now;
  return result;
}

TEST(Pace, IsTheMedianOfTheStepsByPhase) {
  const std::vector<PaceTimes> steps{times(1, 2, 1, 1), times(1, 3, 1, 1.5), times(2, 20, 4, 8)};
  const auto pace = pace_of(steps);
  EXPECT_DOUBLE_EQ(pace[lookup], 3.0);
  EXPECT_DOUBLE_EQ(pace[update], 1.5);
  EXPECT_DOUBLE_EQ(pace[static_cast<std::size_t>(StepPhase::dense)], 1.0) << "no step spends time there";
}

TEST(Pace, TakesNoAccountOfPhasesThatAreLittleOfAStep) {
  const std::vector<PaceTimes> steps{times(0.04, 4, 1, 1), times(1, 2, 1, 1)};
  EXPECT_DOUBLE_EQ(pace_of(steps)[lookup], 2.0);
}

TEST(Pace, IsOneWithoutSteps) {
  for (const double pace : pace_of({})) EXPECT_EQ(pace, 1.0);
}

TEST(Pace, StretchesThePhasesOfAPredictionAndTheStepWithThem) {
  StepPrediction predicted;
  predicted.phases[lookup].seconds = 1.0;
  predicted.phases[update].seconds = 3.0;
  predicted.seconds = 3.2;  // less than their sum: phases overlap
  auto pace = pace_of({});
  pace[lookup] = 2.0;
  pace[update] = 3.0;
  const StepPrediction now = at_pace(predicted, pace);
  EXPECT_DOUBLE_EQ(now.phases[lookup].seconds, 2.0);
  EXPECT_DOUBLE_EQ(now.phases[update].seconds, 9.0);
  EXPECT_DOUBLE_EQ(now.seconds, 3.2 * 11.0 / 4.0);
}

}  // namespace
}  // namespace shardmark
