// SPDX-License-Identifier: Apache-2.0
// The rules of the pipeline under a scripted clock: several ranks, each with its threads and its steps, whose stages
// take times from a random script, some of them very long. Collective stages end when all ranks are in them.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>
#include <stdexcept>

#include "workloads/step/pipeline/pipeline_counts.hpp"

namespace shardmark {
namespace {

constexpr double never = 1e300;

struct Script {
  int ranks = 1;
  PipelineShape shape;
  Ticket tickets = 0;
  std::uint64_t seed = 0;
};

Script random_script(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto up_to = [&](std::int64_t most) { return static_cast<std::int64_t>(random() % (most + 1)); };
  Script script{.ranks = static_cast<int>(1 + up_to(3)), .shape = {}, .tickets = 1 + up_to(30), .seed = seed};
  script.shape = {.threads = 1 + up_to(3), .capacity = 1 + up_to(3), .bound = up_to(5), .looks_up = up_to(7) > 0};
  return script;
}

/// One thread of a rank, or its steps: what it does and until when.
struct Actor {
  enum class Doing { idle, ahead, gradients, update };
  Doing doing = Doing::idle;
  double until = never;
  AheadTask task;
  Ticket step = 0;
  bool has_gradients = false;
};

struct Rank {
  explicit Rank(const Script& script) : book(script.shape), ahead(static_cast<std::size_t>(script.shape.threads)) {
    book.extend(script.tickets);
  }

  TicketBook book;
  std::vector<Actor> ahead;
  Actor steps;
  bool updating = false;
  int looking = 0;
  std::map<Ticket, std::int64_t> seen;
};

class Simulation {
 public:
  explicit Simulation(const Script& script) : script_(script), random_(script.seed ^ 0x9e3779b97f4a7c15U) {
    for (int r = 0; r < script.ranks; ++r) {
      ranks_.emplace_back(script);
      slowness_.push_back(random_() % 4 == 0 ? 20.0 : 1.0);
    }
  }

  void run() {
    for (;;) {
      while (begin_something()) {
      }
      if (finished()) break;
      ASSERT_TRUE(end_next()) << "nobody can go on";
      if (testing::Test::HasFailure()) return;
    }
    for (const Rank& rank : ranks_) {
      EXPECT_EQ(rank.book.version(), script_.tickets);
      EXPECT_EQ(rank.book.taken(), script_.tickets) << "a batch was dropped";
      EXPECT_EQ(rank.seen, ranks_.front().seen) << "ranks looked up at different versions";
    }
  }

 private:
  /// Lognormal, sigma 1.5, of a mean around 1 of a rank that is not slow.
  double duration(std::size_t rank) {
    return slowness_[rank] * std::exp(std::normal_distribution<double>(0.0, 1.5)(random_));
  }

  bool finished() const {
    for (const Rank& rank : ranks_)
      if (rank.book.version() < script_.tickets || rank.steps.doing != Actor::Doing::idle) return false;
    return true;
  }

  bool begin_something() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (begin_step(r)) return true;
      for (Actor& actor : ranks_[r].ahead)
        if (begin_ahead(r, actor)) return true;
    }
    return false;
  }

  bool begin_ahead(std::size_t r, Actor& actor) {
    Rank& rank = ranks_[r];
    if (actor.doing != Actor::Doing::idle || !rank.book.may_begin(actor.task)) return false;
    const AheadStage stage = actor.task.stage;
    rank.book.begin(actor.task);
    actor.doing = Actor::Doing::ahead;
    EXPECT_LT(actor.task.ticket, rank.book.released() + script_.shape.places());
    if (stage != AheadStage::look_up) {
      enter(r, static_cast<int>(stage), actor);
      return true;
    }
    EXPECT_FALSE(rank.updating) << "a lookup during an update";
    ++rank.looking;
    rank.seen[actor.task.ticket] = rank.book.version();
    actor.until = now_ + duration(r);
    return true;
  }

  bool begin_step(std::size_t r) {
    Rank& rank = ranks_[r];
    Actor& actor = rank.steps;
    if (actor.doing != Actor::Doing::idle) return false;
    if (!actor.has_gradients) {
      if (!rank.book.may_consume()) return false;
      actor.step = rank.book.version();
      const std::int64_t stale = actor.step - rank.book.seen(actor.step);
      EXPECT_GE(stale, 0);
      EXPECT_LE(stale, script_.shape.looks_up ? script_.shape.bound : 0);
      actor.doing = Actor::Doing::gradients;
      enter(r, -1, actor);
      return true;
    }
    if (!rank.book.may_update()) return false;
    EXPECT_EQ(rank.looking, 0) << "an update during a lookup";
    rank.book.begin_update();
    rank.updating = true;
    actor.doing = Actor::Doing::update;
    actor.until = now_ + duration(r);
    return true;
  }

  /// A collective call: it takes its time once all ranks are in it.
  void enter(std::size_t rank, int what, Actor& actor) {
    const Ticket ticket = what < 0 ? actor.step : actor.task.ticket;
    auto& inside = calls_[{what, ticket}];
    inside.push_back({rank, &actor});
    if (static_cast<int>(inside.size()) < script_.ranks) return;
    std::int64_t largest = 0;
    for (const auto& [r, each] : inside) largest = std::max(largest, each->task.version);
    for (const auto& [r, each] : inside) {
      if (what == static_cast<int>(AheadStage::agree)) each->task.version = largest;
      each->until = now_ + duration(r);
    }
  }

  bool end_next() {
    Rank* rank = nullptr;
    Actor* next = nullptr;
    const auto consider = [&](Rank& of, Actor& actor) {
      if (actor.doing == Actor::Doing::idle || actor.until == never || (next && actor.until >= next->until)) return;
      rank = &of;
      next = &actor;
    };
    for (Rank& of : ranks_) {
      consider(of, of.steps);
      for (Actor& actor : of.ahead) consider(of, actor);
    }
    if (next == nullptr) return false;
    now_ = next->until;
    end(*rank, *next);
    next->doing = Actor::Doing::idle;
    next->until = never;
    return true;
  }

  void end(Rank& rank, Actor& actor) {
    if (actor.doing == Actor::Doing::gradients) actor.has_gradients = true;
    if (actor.doing == Actor::Doing::update) {
      rank.updating = actor.has_gradients = false;
      rank.book.end_update();
      rank.book.release();
    }
    if (actor.doing != Actor::Doing::ahead) return;
    if (actor.task.stage == AheadStage::look_up) {
      --rank.looking;
      EXPECT_EQ(rank.book.version(), rank.seen[actor.task.ticket]) << "rows changed during a lookup";
    }
    rank.book.end(actor.task);
  }

  const Script& script_;
  std::mt19937_64 random_;
  std::vector<Rank> ranks_;
  std::vector<double> slowness_;
  std::map<std::pair<int, Ticket>, std::vector<std::pair<std::size_t, Actor*>>> calls_;
  double now_ = 0.0;
};

TEST(TicketBook, TenThousandRandomSchedulesKeepTheBoundAndLoseNothing) {
  for (std::uint64_t seed = 1; seed <= 10000; ++seed) {
    const Script script = random_script(seed);
    Simulation(script).run();
    ASSERT_FALSE(testing::Test::HasFailure())
        << "seed " << seed << ": " << script.ranks << " ranks, T " << script.shape.threads << ", C "
        << script.shape.capacity << ", S " << script.shape.bound << ", " << script.tickets << " batches";
  }
}

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
}  // namespace shardmark
