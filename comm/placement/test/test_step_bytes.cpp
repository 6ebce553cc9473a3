// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "comm/placement/cost/row_transfer_choice.hpp"
#include "comm/placement/planners/modulo_split.hpp"
#include "comm/placement/statistics/expected_counts.hpp"
#include "comm/placement/test/random_step.hpp"
#include "comm/placement/test/traffic_model.hpp"

namespace shardmark::placement {
namespace {

/// A random plan with samples that are alike on all ranks, on nodes of neighbours; bytes from expected counts.
struct AlikeStep {
  RandomStep random;
  LookupStatistics statistics;
  StepContext step;

  explicit AlikeStep(std::uint64_t seed)
      : random(one_optimizer(seed)), statistics(random.tables, random.features, ids), step(context()) {}

  PlanCounts counts(std::int64_t samples) const {
    return expected_counts(random.plan, random.tables, random.features, samples, ids);
  }
  Nodes nodes() const { return nodes_of(step); }
  MovedPlan moved() const {
    return {random.plan, random.tables, random.features, step.movement, step.weighted, nodes()};
  }
  Decisions decisions() const {
    DecisionBytes bytes(moved());
    for (int r = 0; r < step.ranks; ++r) bytes.add_home(r, counts(own));
    for (int n = 0; n < nodes().count() && bytes.needs_nodes(); ++n)
      bytes.add_node(n, counts(own * step.ranks_per_node));
    return bytes.decide();
  }
  Traffic traffic() const {
    TrafficModel model(moved(), decisions());
    for (int r = 0; r < step.ranks; ++r) model.add_home(r, counts(own));
    if (nodes().even())
      for (int n = 0; n < nodes().count(); ++n) model.add_node(n, counts(own * step.ranks_per_node));
    model.add_all(counts(step.global_batch));
    return model.traffic();
  }

 private:
  static constexpr std::int64_t own = 10;
  inline static const IdStatistics ids{.alpha = 0.7};

  /// Sums over whole rows travel as wide as the widest of the plan, which one table alone does not know.
  static RandomStep one_optimizer(std::uint64_t seed) {
    RandomStep random(seed);
    for (Table& table : random.tables) table.optimizer = random.tables.front().optimizer;
    return random;
  }
  StepContext context() {
    const int ranks = random.plan.ranks;
    Movement movement = random.movement;
    const int per_node = ranks % 2 == 0 && random.draw(0, 1) == 1 ? ranks / 2 : ranks;
    const bool even = per_node > 1 && per_node < ranks;
    if (movement.transfer == RowTransfer::unique_rows && even && random.draw(0, 1) == 1) movement.dedup = Dedup::node;
    if (movement.dedup == Dedup::node && !even) movement.dedup = Dedup::local;
    return {.statistics = statistics,
            .ranks = ranks,
            .ranks_per_node = per_node,
            .global_batch = own * ranks,
            .movement = movement,
            .weighted = random.draw(0, 1) == 1};
  }
};

/// Bytes with which a way differs from a matrix, of home -> owner or the other way round.
double difference(const StepContext& step, const StepWork& work, PhaseBytes RankWork::*sent, const ByteMatrix& bytes,
                  bool from_owner, double reduced) {
  double most = 0.0;
  const RankLayout layout = step.layout();
  for (int owner = 0; owner < step.ranks; ++owner)
    for (int home = 0; home < step.ranks; ++home) {
      if (home == owner) continue;
      const PhaseBytes& of = work.ranks[owner].*sent;
      const bool node = layout.node_of(owner) == layout.node_of(home);
      const bool rail = !node && owner % layout.per_node == home % layout.per_node;
      const double said = of.all + (node ? of.node : 0.0) + (rail ? of.rail : 0.0) + reduced;
      const auto is = static_cast<double>(from_owner ? bytes(owner, home) : bytes(home, owner));
      most = std::max(most, std::abs(said - is));
    }
  return most;
}

/// Which pairs partial sums pass that are halved, only their own rule says (reduction_bytes.hpp).
bool halves(const Movement& movement) { return movement.transfer == RowTransfer::reduce_scatter_halving; }

TEST(StepBytes, AreThoseOfTheTrafficModel) {
  int by_node = 0, several = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    const AlikeStep alike(seed);
    const MachineModel machine;
    const StepContext step = settled(alike.step, machine, alike.random.plan);
    const StepWork work = step_work(step, machine, alike.random.plan);
    const Traffic traffic = alike.traffic();
    const double rounding = 2.0 * static_cast<double>(std::ssize(alike.random.tables));
    several += step.ranks > 1;
    by_node += step.movement.dedup == Dedup::node;
    EXPECT_LE(difference(step, work, &RankWork::requested, traffic.input_dist, false, 0.0), rounding);
    if (!halves(step.movement)) {
      EXPECT_LE(difference(step, work, &RankWork::vectors, traffic.output_dist, true, work.totals.reduced), rounding);
      EXPECT_LE(difference(step, work, &RankWork::gradients, traffic.grad_dist, false, work.totals.reduced), rounding);
    }
    const StepPrediction predicted = predict_work(step, machine, work);
    for (int r = 0; r < step.ranks && !halves(step.movement); ++r) {
      const auto sent = static_cast<double>(traffic.input_dist.sent_by(r) + traffic.output_dist.sent_by(r) +
                                            traffic.grad_dist.sent_by(r) + traffic.update.sent_by(r));
      EXPECT_NEAR(predicted.sent[r], sent, 8.0 * rounding * step.ranks);
    }
  }
  EXPECT_GT(several, 200);
  EXPECT_GT(by_node, 3);
}

/// Tables by rows over the ranks of a node each, whose transfers predictions settle as a run decides.
TEST(StepBytes, AreSettledByRailsWhereARunSparesMessages) {
  int by_rails = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    AlikeStep alike(seed);
    const bool max =
        std::ranges::find(alike.random.features, Pooling::max, &Feature::pooling) != alike.random.features.end();
    const Nodes nodes = alike.nodes();
    if (!nodes.even() || max) continue;
    alike.step.movement = {.transfer = RowTransfer::automatic, .dedup = Dedup::local};
    Plan& plan = alike.random.plan;
    for (std::int64_t t = 0; t < std::ssize(plan.tables); ++t) {
      const std::vector<int>& owners = nodes.ranks_of(static_cast<int>(t) % nodes.count());
      const Table& table = alike.random.tables[t];
      if (table.rows >= std::ssize(owners)) plan.tables[t] = split_modulo(table, owners);
    }
    const StepContext step = settled(alike.step, MachineModel{}, plan);
    for (const Decisions::Split& split : alike.decisions().splits) {
      std::vector<const Shard*> shards;
      for (const Shard& shard : plan.tables[split.columns.table].shards)
        if (shard.column_begin == split.columns.begin && shard.column_end == split.columns.end)
          shards.push_back(&shard);
      const HomeLookups own = home_lookups(step, split.columns.table, shards, step.samples());
      const Packing packing = packing_of(step, split.columns.table, plan.tables[split.columns.table]);
      EXPECT_EQ(name_of(transfer_of(step, split.columns.table, shards, own, packing)), name_of(split.transfer));
    }
    by_rails += step.movement.transfer == RowTransfer::node_partials;
  }
  EXPECT_GT(by_rails, 3);
}

}  // namespace
}  // namespace shardmark::placement
