// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "comm/exchange/progress_thread.hpp"

namespace shardmark::comm {
namespace {

using std::chrono::milliseconds;

void pass(int ms) { std::this_thread::sleep_for(milliseconds(ms)); }

TEST(Progress, TasksTakeTurnsInOneOrderWhateverTheirCallsTake) {
  for (const int slow : {0, 1, 2}) {
    ProgressThread progress(Waiting::poll);
    std::vector<std::string> order, calls;
    progress.interleave(3, [&](std::int64_t task) {
      for (int round = 0; round <= task; ++round) {
        order.push_back(std::to_string(task) + "." + std::to_string(round));
        progress.run([&] {
          pass(task == slow ? 5 : 0);
          calls.push_back(std::to_string(task) + "." + std::to_string(round));
        });
      }
    });
    EXPECT_EQ(order, (std::vector<std::string>{"0.0", "1.0", "2.0", "1.1", "2.1", "2.2"}));
    EXPECT_EQ(calls, order);
  }
}

TEST(Progress, CallsHappenOnOneOtherThreadWhileTasksStayOnTheCallers) {
  const auto caller = std::this_thread::get_id();
  std::thread::id calls;
  ProgressThread progress(Waiting::poll);
  progress.interleave(2, [&](std::int64_t) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    progress.run([&] {
      EXPECT_NE(std::this_thread::get_id(), caller);
      if (calls == std::thread::id()) calls = std::this_thread::get_id();
      EXPECT_EQ(std::this_thread::get_id(), calls);
    });
    EXPECT_EQ(std::this_thread::get_id(), caller);
  });
}

TEST(Progress, WithoutAThreadOrWithOneTaskACallIsACall) {
  const auto caller = std::this_thread::get_id();
  ProgressThread plain, threaded(Waiting::poll);
  for (ProgressThread* progress : {&plain, &threaded}) {
    progress->interleave(1,
                         [&](std::int64_t) { progress->run([&] { EXPECT_EQ(std::this_thread::get_id(), caller); }); });
    progress->run([&] { EXPECT_EQ(std::this_thread::get_id(), caller); });
  }
}

/// Each task computes as long as its call takes: all calls but the last are hidden.
TEST(Progress, CountsTheTimeThatNobodyCouldHide) {
  ProgressThread progress(Waiting::poll);
  double of_tasks = 0.0;
  const double begin = progress.now();
  progress.interleave(4, [&](std::int64_t) {
    const double task_begin = progress.now();
    pass(40);
    progress.run([] { pass(40); });
    of_tasks += progress.now() - task_begin;
  });
  const double all = progress.now() - begin;
  EXPECT_GE(progress.busy_seconds(), 0.16);
  EXPECT_LT(progress.exposed_seconds(), 0.75 * progress.busy_seconds());
  EXPECT_GT(progress.exposed_seconds(), 0.03);
  EXPECT_LE(of_tasks, 1.01 * all);  // nothing is charged to two
  ProgressThread plain;
  plain.run([] { pass(5); });
  EXPECT_GE(plain.exposed_seconds(), 0.005);
  EXPECT_GE(plain.busy_seconds(), 0.005);
}

TEST(Progress, AnErrorOfACallComesOutOfItsTask) {
  ProgressThread progress(Waiting::poll);
  std::string caught;
  try {
    progress.interleave(3, [&](std::int64_t task) {
      progress.run([&] {
        if (task == 1) throw std::runtime_error("call of task 1");
      });
    });
  } catch (const std::runtime_error& error) {
    caught = error.what();
  }
  EXPECT_EQ(caught, "call of task 1");
}

TEST(Progress, AnErrorOfATaskEndsAllWithoutWaitingForACallThatNeverEnds) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    ProgressThread progress(Waiting::poll);
    progress.interleave(2, [&](std::int64_t task) {
      if (task == 1) throw std::invalid_argument("task 1");
      progress.run([] { pass(3000); });
    });
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "task 1");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(1500));
}

}  // namespace
}  // namespace shardmark::comm
