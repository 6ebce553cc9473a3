// SPDX-License-Identifier: Apache-2.0
// The rules of the pipeline one by one, and what is counted of it.
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>

#include "workloads/step/pipeline/pipeline_counts.hpp"

namespace shardmark::workloads {
namespace {

TEST(TicketBook, ShapesThatNoBatchWouldPassAreRefused) {
  EXPECT_THROW(TicketBook({.threads = -1}), std::invalid_argument);
  EXPECT_THROW(TicketBook({.capacity = 0}), std::invalid_argument);
  EXPECT_THROW(TicketBook({.bound = -1}), std::invalid_argument);
}

TEST(TicketBook, OneThreadIsAtMostOneMoreThanItsCapacityAhead) {
  TicketBook book({.threads = 1, .capacity = 1, .bound = 100});
  book.extend(10);
  AheadTask task;
  const auto prepare = [&] {
    for (std::size_t stage = 0; stage < ahead_stages; ++stage) {
      ASSERT_TRUE(book.may_begin(task));
      book.begin(task);
      book.end(task);
    }
  };
  for (int batch = 0; batch < 3; ++batch) prepare();
  EXPECT_FALSE(book.may_begin(task));
  EXPECT_EQ(book.depth(), 3);
  EXPECT_EQ(2 - book.seen(2), 2);  // C + 1
}

/// Two batches are sent home at once, the younger is there first: it goes first where the older one may wait.
TEST(TicketBook, TheOneThatIsCompleteFirstIsTakenAsFarAsTheBoundLetsTheOlderWait) {
  for (const bool in_order : {true, false})
    for (const std::int64_t bound : {1, 2}) {
      TicketBook book({.threads = 2, .capacity = 1, .bound = bound, .in_order = in_order});
      book.extend(4);
      AheadTask older, younger;
      const auto go_on = [&](AheadTask& task) {
        ASSERT_TRUE(book.may_begin(task));
        book.begin(task);
        book.end(task);
      };
      for (AheadTask* task : {&older, &younger})
        for (int stage = 0; stage < 4; ++stage) go_on(*task);
      book.begin(younger);
      book.end(younger);
      EXPECT_EQ(book.next(), in_order ? std::nullopt : std::optional<Ticket>(1));
      EXPECT_EQ(book.overtaken(1), 1);
      go_on(older);
      EXPECT_EQ(book.next(), in_order ? 0 : 1);
      if (in_order) continue;
      book.consume(1);
      book.begin_update();
      book.end_update();
      book.release();
      EXPECT_EQ(book.next(), 0);
      EXPECT_EQ(book.version() - book.seen(0), 1);
      // A third one, complete now, would have the older one wait for the step of version 2.
      for (std::size_t stage = 0; stage < ahead_stages; ++stage) go_on(younger);
      EXPECT_EQ(book.may_consume(2), bound == 2);
    }
}

TEST(Histogram, QuantilesAreOfTheCounts) {
  Histogram histogram;
  for (int i = 0; i < 98; ++i) histogram.add(1);
  histogram.add(2);
  histogram.add(7);
  EXPECT_EQ(histogram.quantile(0.5), 1);
  EXPECT_EQ(histogram.quantile(0.99), 2);
  EXPECT_EQ(histogram.largest(), 7);
  EXPECT_DOUBLE_EQ(histogram.mean(), 1.07);
}

TEST(PipelineFormula, RateAndThreadsFollowDeepRec) {
  EXPECT_DOUBLE_EQ(predicted_rate(1, 0.5, 0.1), 2.0);
  EXPECT_DOUBLE_EQ(predicted_rate(8, 0.5, 0.1), 10.0);
  EXPECT_DOUBLE_EQ(predicted_rate(0, 0.3, 0.1), 2.5);
  EXPECT_EQ(threads_needed(0.5, 0.1, 8), 5);
  EXPECT_EQ(threads_needed(0.51, 0.1, 8), 6);
  EXPECT_EQ(threads_needed(0.0, 0.1, 8), 1);
  EXPECT_EQ(threads_needed(9.0, 0.1, 8), 8);
}

}  // namespace
}  // namespace shardmark::workloads
