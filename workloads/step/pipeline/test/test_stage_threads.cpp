// SPDX-License-Identifier: Apache-2.0
// The pipeline with real threads, on a table of one number; to be run with the thread sanitizer too (README.md).
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>

#include "workloads/step/pipeline/stage_threads.hpp"

namespace shardmark::workloads {
namespace {

/// Batches that read a table of one number, which every step adds one to: what the lookup of a batch reads is the
/// version that it sees. Neither table nor batches are locked.
struct CountingWork : AheadWork {
  explicit CountingWork(const PipelineShape& shape) : batches(static_cast<std::size_t>(shape.places())) {}

  void read(Ticket ticket) override { batch(ticket) = {ticket, -1, false}; }
  void distribute(Ticket ticket) override {
    EXPECT_EQ(batch(ticket).ticket, ticket);
    nap(ticket);
  }
  std::int64_t agree(Ticket, std::int64_t own) override { return own; }
  void look_up(Ticket ticket) override {
    if (ticket == throws_at) throw std::runtime_error("lookup of 5");
    batch(ticket).read = table;
  }
  void deliver(Ticket ticket) override {
    nap(ticket + 1);
    batch(ticket).delivered = true;
  }
  Ticket choose(Ticket own) override { return own; }

  /// Every seventh stage is slow.
  static void nap(Ticket ticket) {
    if (ticket % 7 == 3) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }

  struct Batch {
    Ticket ticket = -1;
    std::int64_t read = -1;
    bool delivered = false;
  };
  Batch& batch(Ticket ticket) { return batches[static_cast<std::size_t>(ticket) % batches.size()]; }

  std::vector<Batch> batches;
  std::int64_t table = 0;
  Ticket throws_at = -1;
};

/// Step number `step`; returns the ticket that it took.
Ticket take_step(StageThreads& threads, CountingWork& work, std::int64_t step, const PipelineShape& shape) {
  const Ticket ticket = threads.consume();
  const CountingWork::Batch batch = work.batch(ticket);
  EXPECT_TRUE(!shape.in_order || ticket == step);
  EXPECT_EQ(batch.ticket, ticket);
  if (shape.looks_up) {
    EXPECT_TRUE(batch.delivered);
    EXPECT_EQ(batch.read, threads.seen(ticket));
    EXPECT_LE(step - batch.read, shape.bound);
  }
  threads.begin_update();
  ++work.table;
  threads.end_update();
  threads.release();
  return ticket;
}

/// 100 steps, ten more of which are known whenever all are taken.
void take_every_batch_once(const PipelineShape& shape) {
  CountingWork work(shape);
  StageThreads threads(shape, work);
  std::set<Ticket> taken;
  for (std::int64_t step = 0; step < 100; ++step) {
    if (step % 10 == 0) threads.extend(step + 10);
    taken.insert(take_step(threads, work, step, shape));
  }
  const PipelineCounts counts = threads.counts();
  EXPECT_EQ(taken.size(), 100u);
  EXPECT_EQ(*taken.rbegin(), 99);
  EXPECT_EQ(counts.steps, 100);
  EXPECT_EQ(counts.staleness.total(), 100);
  EXPECT_LE(counts.staleness.largest(), shape.looks_up ? shape.bound : 0);
  EXPECT_TRUE((!shape.in_order && shape.threads > 1) || counts.overtaking == 0);
  EXPECT_TRUE(threads.stop());
}

TEST(StageThreads, EveryShapeTakesEveryBatchWithinItsBound) {
  for (const std::int64_t count : {1, 2, 4})
    for (const std::int64_t capacity : {1, 3})
      for (const std::int64_t bound : {0, 1, 5})
        for (const bool looks_up : {true, false})
          for (const bool in_order : {true, false}) take_every_batch_once({count, capacity, bound, looks_up, in_order});
}

/// The ids of batch 0 are under way until those of batch 1 have come.
struct LateWork : CountingWork {
  using CountingWork::CountingWork;
  void distribute(Ticket ticket) override {
    while (ticket == 0 && !free) std::this_thread::yield();
    CountingWork::distribute(ticket);
  }
  std::atomic<bool> free = false;
};

TEST(StageThreads, InTheOrderOfCompletionALateBatchIsOvertaken) {
  for (const bool in_order : {true, false}) {
    const PipelineShape shape{.threads = 2, .looks_up = false, .in_order = in_order};
    LateWork work(shape);
    StageThreads threads(shape, work);
    threads.extend(3);
    while (threads.counts().prepared < 2) std::this_thread::yield();  // 1 and 2: all but the one that is late
    if (in_order) work.free = true;
    EXPECT_EQ(threads.consume(), in_order ? 0 : 1);
    EXPECT_EQ(threads.counts().overtaking, in_order ? 0 : 1);
    work.free = true;
    EXPECT_TRUE(threads.stop());
  }
}

TEST(StageThreads, WithoutThreadsEachBatchIsPreparedByItsStep) {
  for (const bool looks_up : {true, false}) {
    const PipelineShape shape{.threads = 0, .looks_up = looks_up};
    CountingWork work(shape);
    StageThreads threads(shape, work);
    threads.extend(30);
    for (Ticket t = 0; t < 30; ++t) {
      EXPECT_EQ(threads.counts().prepared, t);
      take_step(threads, work, t, shape);
    }
    EXPECT_EQ(threads.counts().staleness.largest(), 0);
    EXPECT_THROW(threads.consume(), std::logic_error);
  }
}

TEST(StageThreads, AnInputThatEndsInsideTheLookaheadIsTakenToItsEnd) {
  const PipelineShape shape{4, 4, 9, true};
  CountingWork work(shape);
  StageThreads threads(shape, work);
  threads.extend(3);
  for (Ticket t = 0; t < 3; ++t) take_step(threads, work, t, shape);
  EXPECT_THROW(threads.consume(), std::logic_error);
  EXPECT_TRUE(threads.stop());
}

TEST(StageThreads, WhatAStageThrowsIsThrownToTheSteps) {
  for (const std::int64_t count : {0, 2}) {
    const PipelineShape shape{count, 2, 4, true};
    CountingWork work(shape);
    work.throws_at = 5;
    StageThreads threads(shape, work);
    threads.extend(100);
    Ticket taken = 0;
    try {
      for (; taken < 100; ++taken) take_step(threads, work, taken, shape);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "lookup of 5");
    }
    EXPECT_LE(taken, 5);
    EXPECT_TRUE(threads.stop());
  }
}

TEST(StageThreads, AStopInMidQueueJoinsAllThreads) {
  for (int steps = 0; steps < 20; ++steps) {
    const PipelineShape shape{3, 2, 3, true};
    CountingWork work(shape);
    StageThreads threads(shape, work);
    threads.extend(1000);
    for (Ticket t = 0; t < steps; ++t) take_step(threads, work, t, shape);
    EXPECT_TRUE(threads.stop());
  }
}

/// Work that never comes back until it is told to.
struct StuckWork : CountingWork {
  using CountingWork::CountingWork;
  void look_up(Ticket) override {
    while (!free) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    gone = true;
  }
  std::atomic<bool> free = false, gone = false;
};

TEST(StageThreads, AStageThatDoesNotEndIsLeftBehind) {
  const PipelineShape shape{1, 1, 2, true};
  StuckWork work(shape);
  {
    StageThreads threads(shape, work);
    threads.extend(1);
    while (threads.counts().work_seconds[0] == 0.0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(threads.stop());
  }
  work.free = true;
  while (!work.gone) std::this_thread::yield();
}

}  // namespace
}  // namespace shardmark::workloads
