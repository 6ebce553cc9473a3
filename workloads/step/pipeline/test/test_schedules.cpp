// SPDX-License-Identifier: Apache-2.0
// The rules of the pipeline under a scripted clock: several ranks, each with its threads and its steps, whose stages
// take times from a random script, some of them very long. Collective stages end when all ranks are in them.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "workloads/step/pipeline/ticket_book.hpp"

namespace shardmark::workloads {
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
  script.shape = {.threads = 1 + up_to(3),
                  .capacity = 1 + up_to(3),
                  .bound = up_to(5),
                  .looks_up = up_to(7) > 0,
                  .in_order = up_to(1) > 0};
  return script;
}

/// One thread of a rank, or its steps: what it does and until when.
struct Actor {
  enum class Doing { idle, prefetching, choosing, gradients, update };
  Doing doing = Doing::idle;
  double until = never;
  AheadTask task;
  Ticket step = -1;  ///< its ticket; -1: not chosen yet
  bool has_gradients = false;
};

struct Rank {
  explicit Rank(const Script& script)
      : book(script.shape), prefetching(static_cast<std::size_t>(script.shape.threads)) {
    book.extend(script.tickets);
  }

  TicketBook book;
  std::vector<Actor> prefetching;
  Actor steps;
  bool updating = false;
  int looking = 0;
  std::map<Ticket, std::int64_t> seen;
  std::vector<Ticket> order;  ///< of steps
};

class Simulation {
 public:
  explicit Simulation(const Script& script) : script_(script), random_(script.seed ^ 0x9e3779b97f4a7c15U) {
    for (int r = 0; r < script.ranks; ++r) {
      ranks_.emplace_back(script);
      slowness_.push_back(random_() % 4 == 0 ? 20.0 : 1.0);
    }
  }

  /// Returns how many steps overtook, of all ranks.
  int run() {
    for (;;) {
      while (begin_something()) {
      }
      if (finished()) break;
      if (!end_next()) ADD_FAILURE() << "nobody can go on";
      if (testing::Test::HasFailure()) return 0;
    }
    for (const Rank& rank : ranks_) {
      EXPECT_EQ(rank.book.version(), script_.tickets);
      EXPECT_EQ(rank.book.taken(), script_.tickets) << "a batch was dropped";
      EXPECT_EQ(rank.seen, ranks_.front().seen) << "ranks looked up at different versions";
      EXPECT_EQ(rank.order, ranks_.front().order) << "ranks took different batches";
      EXPECT_EQ(std::set(rank.order.begin(), rank.order.end()).size(), rank.order.size()) << "a batch was taken twice";
    }
    return overtaking_;
  }

 private:
  static constexpr int gradients = -1, choosing = -2;

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
      for (Actor& actor : ranks_[r].prefetching)
        if (begin_prefetch(r, actor)) return true;
    }
    return false;
  }

  bool begin_prefetch(std::size_t r, Actor& actor) {
    Rank& rank = ranks_[r];
    if (actor.doing != Actor::Doing::idle || !rank.book.may_begin(actor.task)) return false;
    const AheadStage stage = actor.task.stage;
    rank.book.begin(actor.task);
    actor.doing = Actor::Doing::prefetching;
    EXPECT_LT(actor.task.ticket, rank.book.released() + script_.shape.places());
    if (stage != AheadStage::look_up) {
      enter(r, static_cast<int>(stage), actor.task.ticket, actor);
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
    if (!actor.has_gradients) return choose(r, actor) || consume(r, actor);
    if (!rank.book.may_update()) return false;
    EXPECT_EQ(rank.looking, 0) << "an update during a lookup";
    rank.book.begin_update();
    rank.updating = true;
    actor.doing = Actor::Doing::update;
    actor.until = now_ + duration(r);
    return true;
  }

  /// The ticket of the next step is rank 0's.
  bool choose(std::size_t r, Actor& actor) {
    const std::optional<Ticket> next = ranks_[r].book.next();
    if (actor.step >= 0 || !next) return false;
    if (script_.shape.in_order) {
      EXPECT_EQ(*next, ranks_[r].book.version());
      actor.step = *next;
      return true;
    }
    if (r == 0) chosen_.push_back(*next);
    actor.doing = Actor::Doing::choosing;
    enter(r, choosing, ranks_[r].book.version(), actor);
    return true;
  }

  bool may_overtake() const {
    const PipelineShape& shape = script_.shape;
    return !shape.in_order && shape.threads > 1 && !(shape.looks_up && shape.bound == 0);
  }

  bool consume(std::size_t r, Actor& actor) {
    Rank& rank = ranks_[r];
    if (actor.step < 0 || !rank.book.may_consume(actor.step)) return false;
    const std::int64_t stale = rank.book.version() - rank.book.seen(actor.step);
    EXPECT_GE(stale, 0);
    EXPECT_LE(stale, script_.shape.looks_up ? script_.shape.bound : 0);
    const std::int64_t overtaken = rank.book.overtaken(actor.step);
    EXPECT_TRUE(may_overtake() || overtaken == 0);
    overtaking_ += overtaken > 0 ? 1 : 0;
    rank.order.push_back(actor.step);
    rank.book.consume(actor.step);
    actor.doing = Actor::Doing::gradients;
    enter(r, gradients, actor.step, actor);
    return true;
  }

  /// A collective call: it takes its time once all ranks are in it.
  void enter(std::size_t rank, int what, std::int64_t ticket, Actor& actor) {
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
      for (Actor& actor : of.prefetching) consider(of, actor);
    }
    if (next == nullptr) return false;
    now_ = next->until;
    end(*rank, *next);
    next->doing = Actor::Doing::idle;
    next->until = never;
    return true;
  }

  void end(Rank& rank, Actor& actor) {
    if (actor.doing == Actor::Doing::choosing) actor.step = chosen_[rank.book.version()];
    if (actor.doing == Actor::Doing::gradients) actor.has_gradients = true;
    if (actor.doing == Actor::Doing::update) {
      rank.updating = actor.has_gradients = false;
      actor.step = -1;
      rank.book.end_update();
      rank.book.release();
    }
    if (actor.doing != Actor::Doing::prefetching) return;
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
  std::vector<Ticket> chosen_;  ///< by step, in the order of completion
  int overtaking_ = 0;
  double now_ = 0.0;
};

TEST(Schedules, TenThousandRandomOnesKeepTheBoundAndLoseNothing) {
  int overtaking = 0;
  for (std::uint64_t seed = 1; seed <= 10000; ++seed) {
    const Script script = random_script(seed);
    overtaking += Simulation(script).run();
    ASSERT_FALSE(testing::Test::HasFailure())
        << "seed " << seed << ": " << script.ranks << " ranks, T " << script.shape.threads << ", C "
        << script.shape.capacity << ", S " << script.shape.bound << ", " << script.tickets << " batches, "
        << (script.shape.in_order ? "input" : "completion");
  }
  EXPECT_GT(overtaking, 1000);
}

}  // namespace
}  // namespace shardmark::workloads
