// SPDX-License-Identifier: Apache-2.0
// This tests predictions of prefetched steps.
#include <gtest/gtest.h>

#include "workloads/measure/case_predictions.hpp"

namespace shardmark::workloads {
namespace {

/// 4 s before the model, 2 s behind it; 3 s of kernels, 2.5 s of messages.
placement::StepPrediction step_of_six_seconds() {
  placement::StepPrediction step;
  const double seconds[] = {1.0, 1.0, 2.0, 0.5, 1.0, 0.5}, exchange[] = {0.5, 0.0, 1.0, 0.0, 1.0, 0.0};
  for (std::size_t p = 0; p < step.phases.size(); ++p) {
    step.phases[p].seconds = seconds[p];
    step.phases[p].exchange = exchange[p];
  }
  step.seconds = 6.0;
  step.rank_seconds = {2.0, 3.0};
  return step;
}

double predicted_seconds(const Async& async) { return prepared_ahead(step_of_six_seconds(), async)->seconds; }

TEST(AheadPrediction, IsTheSlowerOfPreparingAndTheRestUnlessKernelsOrMessagesTakeLonger) {
  EXPECT_EQ(predicted_seconds({}), 6.0);
  EXPECT_EQ(predicted_seconds({.mode = AsyncMode::rows, .pool = {PoolKind::inlined}}), 6.0);
  EXPECT_EQ(predicted_seconds({.mode = AsyncMode::rows, .threads = 1}), 4.0);
  EXPECT_EQ(predicted_seconds({.mode = AsyncMode::rows, .threads = 4}), 3.0);  // kernels
  EXPECT_EQ(predicted_seconds({.mode = AsyncMode::ids, .threads = 1}), 5.0);   // all but the ids
  EXPECT_EQ(predicted_seconds({.mode = AsyncMode::rows, .threads = 0}), 3.0);  // two are chosen
  placement::StepPrediction of_messages = step_of_six_seconds();
  of_messages.phases[2].exchange = 2.0;
  EXPECT_EQ(prepared_ahead(of_messages, {.mode = AsyncMode::rows, .threads = 4})->seconds, 3.5);
}

TEST(AheadPrediction, HowManyVectorsAreSentAgainIsNotKnownBefore) {
  EXPECT_FALSE(prepared_ahead(step_of_six_seconds(), {.mode = AsyncMode::patched}));
  EXPECT_EQ(predicted_seconds({.mode = AsyncMode::patched, .pool = {PoolKind::inlined}}), 6.0);
}

}  // namespace
}  // namespace shardmark::workloads
