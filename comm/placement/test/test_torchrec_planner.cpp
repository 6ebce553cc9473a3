// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "comm/placement/plan_check.hpp"
#include "comm/placement/planner.hpp"
#include "comm/placement/planners/torchrec_partition.hpp"
#include "comm/placement/test/random_tables.hpp"
#include "reference/error.hpp"

namespace shardmark::placement {
namespace {

constexpr double gib = 0x1p30;

TorchrecMachine usual_machine() {
  return {.memory = 897 * gib,
          .intra = 600 * gib,
          .inter = 12.5 * gib,
          .half_block = 1.15,
          .quarter_block = 1.75,
          .backward = 2.0,
          .copy = 2.455,
          .elementwise = 9.22};
}

const Table hundred_by_ten{"table_0", 100, 10, {}};
const std::vector<Feature> one_id{{"feature_0", 0}};

TorchrecPerf perf(TorchrecSharding sharding, const TorchrecStep& step, std::int64_t dim = 10,
                  const std::vector<Feature>& readers = one_id) {
  Table table = hundred_by_ten;
  table.dim = dim;
  return torchrec_perf(sharding, table, readers, dim, step, usual_machine());
}

/// milliseconds, as TorchRec's estimates are
void expect_perf(const TorchrecPerf& perf, double forward_compute, double forward_comms, double backward_compute,
                 double backward_comms) {
  EXPECT_NEAR(1e3 * perf.forward_compute, forward_compute, 1e-12 * forward_compute);
  EXPECT_NEAR(1e3 * perf.forward_comms, forward_comms, 1e-12 * forward_comms);
  EXPECT_NEAR(1e3 * perf.backward_compute, backward_compute, 1e-12 * backward_compute);
  EXPECT_NEAR(1e3 * perf.backward_comms, backward_comms, 1e-12 * backward_comms);
}

/// What TorchRec expects of itself: test_1_table_perf of torchrec/distributed/planner/tests/test_shard_estimators.py at
/// a48cef7, two ranks of a node, 512 samples each, one id per sample.
TEST(TorchrecEstimate, is_torchrecs) {
  const TorchrecStep step{.ranks = 2, .node_size = 2, .samples = 512};
  expect_perf(perf(TorchrecSharding::data_parallel, step), 9.356002212235228e-05, 0, 0.00018712004424470456,
              0.000225593945387348);
  for (const auto sharding :
       {TorchrecSharding::table_wise, TorchrecSharding::column_wise, TorchrecSharding::table_column_wise})
    expect_perf(perf(sharding, step), 0.000327460077428233, 6.357828776041667e-05, 0.000654920154856466,
                6.357828776041667e-05);
  for (const auto sharding : {TorchrecSharding::row_wise, TorchrecSharding::table_row_wise})
    expect_perf(perf(sharding, step), 6.804365245261984e-05, 6.357828776041667e-05, 0.0001360873049052397,
                0.00016798276699240525);
}

TEST(TorchrecEstimate, between_nodes) {
  // Four ranks, two per node, 3 samples each, two features of 5 and 1 ids: n = 18, o = 6. 64 columns, half-width wires.
  const std::vector<Feature> readers{{"a", 0, Pooling::sum, 5}, {"b", 0, Pooling::sum, 1}};
  const TorchrecStep step{.ranks = 4, .node_size = 2, .samples = 3, .wire = {ValueType::fp16, ValueType::bf16}};
  const double memory = 897 * gib, intra = 600 * gib, inter = 12.5 * gib;
  const auto expect = [&](TorchrecSharding sharding, double computed, double forward, double backward) {
    SCOPED_TRACE(name_of(sharding));
    expect_perf(perf(sharding, step, 64, readers), 1e3 * computed, 1e3 * forward, 2e3 * computed, 1e3 * backward);
  };
  // Reads 8 x 18 x 4 bytes of ids, 18 x 4 rows of 256 bytes, writes 6 x 4 vectors of 128 bytes.
  expect(TorchrecSharding::table_wise, 1.15 * (576 + 18432 + 3072) / memory, 3072 / inter, 3072 / inter);
  // A quarter of the ids and rows, all of the vectors.
  expect(TorchrecSharding::row_wise, (144 + 4608 + 3072) / memory, 3072 / inter, 3072 / inter + 2.455 * 3072 / memory);
  // Half of them; vectors within the node, then half of those to the other.
  expect(TorchrecSharding::table_row_wise, (288 + 9216 + 3072) / memory, 3072 / intra + 1536 / inter,
         3072 / intra + 1536 / inter + 2.455 * 3072 / memory);
  // Ids and rows of the own samples, 6 vectors of 256 bytes; 25600 bytes reduced over two nodes, two links each.
  expect(TorchrecSharding::data_parallel, (144 + 4608 + 1536) / (memory / 2), 0,
         25600 * 1.5 / (2 * inter) + 9.22 * 25600 / (memory / 2));
}

TEST(TorchrecEstimate, without_pooling_a_vector_per_id) {
  const std::vector<Feature> sequence{{"a", 0, Pooling::none, 5}};
  const TorchrecStep step{.ranks = 2, .node_size = 2, .samples = 4};
  // n = o = 20, 128 columns: 8 x 40 + 40 x 512 in, 40 x 512 out; by rows half of it, and no partial sums.
  const double memory = 897 * gib, intra = 600 * gib;
  EXPECT_DOUBLE_EQ(perf(TorchrecSharding::table_wise, step, 128, sequence).forward_compute, (320 + 2 * 20480) / memory);
  const TorchrecPerf rows = perf(TorchrecSharding::row_wise, step, 128, sequence);
  EXPECT_DOUBLE_EQ(rows.forward_compute, (160 + 2 * 10240) / memory);
  EXPECT_DOUBLE_EQ(rows.forward_comms, 10240 / intra);
}

TEST(TorchrecEstimate, storage_is_of_rows_state_ids_and_vectors) {
  const Table table{"t", 100, 8, {.kind = OptimizerKind::adagrad}};
  const std::vector<Feature> readers{{"a", 0, Pooling::sum, 5}};
  const TorchrecStep step{.ranks = 4, .node_size = 2, .samples = 3};  // n = 15, o = 3
  const auto storage = [&](TorchrecSharding sharding, const Shard& shard) {
    return torchrec_storage(sharding, table, readers, shard, step);
  };
  EXPECT_EQ(storage(TorchrecSharding::data_parallel, whole(table, 0)), 6400 + 8 * 15 + 3 * 32);
  EXPECT_EQ(storage(TorchrecSharding::table_wise, whole(table, 0)), 6400 + 8 * 60 + 12 * 32);
  EXPECT_EQ(storage(TorchrecSharding::column_wise, {{0, 100, 1}, 0, 4, 0}), 3200 + 8 * 60 + 12 * 16);
  EXPECT_EQ(storage(TorchrecSharding::row_wise, {{0, 25, 1}, 0, 8, 0}), 1600 + 8 * 15 + 12 * 32);
  EXPECT_EQ(storage(TorchrecSharding::table_row_wise, {{0, 50, 1}, 0, 8, 0}), 3200 + 8 * 30 + 12 * 32);
  EXPECT_EQ(storage(TorchrecSharding::row_wise, {{100, 100, 1}, 0, 8, 0}), 0);
}

TEST(TorchrecShards, are_blocks) {
  const TorchrecStep step{.ranks = 4, .node_size = 2};
  const auto rows_of = [&](std::int64_t rows) {
    std::vector<std::int64_t> counts;
    for (const Shard& shard : torchrec_shards(TorchrecSharding::row_wise, {"t", rows, 8, {}}, step, 128))
      counts.push_back(shard.rows.count());
    return counts;
  };
  EXPECT_EQ(rows_of(10), (std::vector<std::int64_t>{3, 3, 3, 1}));
  EXPECT_EQ(rows_of(5), (std::vector<std::int64_t>{2, 2, 1, 0}));
  const auto columns_of = [&](std::int64_t dim, std::int64_t least) {
    return torchrec_shards(TorchrecSharding::column_wise, {"t", 9, dim, {}}, step, least).size();
  };
  EXPECT_EQ(columns_of(128, 128), 1U);
  EXPECT_EQ(columns_of(256, 128), 2U);
  EXPECT_EQ(columns_of(384, 128), 3U);
  EXPECT_EQ(columns_of(300, 100), 3U);
  EXPECT_EQ(columns_of(260, 128), 1U);  // 130 is no multiple of 4, and no other divisor is left
  EXPECT_EQ(columns_of(64, 20), 2U);
}

TEST(TorchrecPartition, deals_the_largest_first_to_the_rank_that_is_done_first) {
  // Example of GreedyPerfPartitioner's documentation: two that are on all ranks take 1 and 2 of each, then shards of 4
  // and of 3.
  const auto option = [](TorchrecSharding sharding, double size) {
    return TorchrecOption{.sharding = sharding, .seconds = size, .shards = 2, .full = 2, .storage = size};
  };
  const TorchrecOption one = option(TorchrecSharding::row_wise, 1), two = option(TorchrecSharding::row_wise, 2);
  const TorchrecOption three = option(TorchrecSharding::column_wise, 3),
                       four = option(TorchrecSharding::column_wise, 4);
  TorchrecPartition partition;
  ASSERT_TRUE(torchrec_partition({&one, &two, &three, &four}, {.ranks = 2, .node_size = 2}, 10, partition));
  EXPECT_EQ(partition.seconds, 1 + 2 + 4 + 3);
  EXPECT_EQ(partition.ranks[3], (std::vector<int>{0, 1}));
  EXPECT_EQ(partition.ranks[2], (std::vector<int>{0, 1}));
  EXPECT_FALSE(torchrec_partition({&one, &two, &three, &four}, {.ranks = 2, .node_size = 2}, 9, partition));
}

TEST(TorchrecPartition, takes_the_node_that_is_done_first_and_passes_over_full_ranks) {
  const TorchrecOption large{.sharding = TorchrecSharding::table_wise, .seconds = 1, .storage = 8};
  const TorchrecOption node{
      .sharding = TorchrecSharding::table_row_wise, .seconds = 5, .shards = 2, .full = 2, .storage = 3};
  const TorchrecOption small{.sharding = TorchrecSharding::table_wise, .seconds = 1, .storage = 2};
  TorchrecPartition partition;
  // 8 bytes to rank 0; the node of ranks 2 and 3 takes least; then rank 0 has only 2 of 10 bytes left and is taken
  // once, at 1 s, as rank 1 is before it at 0 s.
  ASSERT_TRUE(torchrec_partition({&large, &node, &small, &small, &small}, {.ranks = 4, .node_size = 2}, 10, partition));
  EXPECT_EQ(partition.ranks[0], std::vector<int>{0});
  EXPECT_EQ(partition.ranks[1], (std::vector<int>{2, 3}));
  EXPECT_EQ(partition.ranks[2], std::vector<int>{1});
  EXPECT_EQ(partition.ranks[3], std::vector<int>{0});
  EXPECT_EQ(partition.ranks[4], std::vector<int>{1});
  EXPECT_EQ(partition.seconds, 5);
  // The node takes most memory and comes first; of equal ranks those that lead a node, of which rank 4 alone is none.
  ASSERT_TRUE(torchrec_partition({&small, &small, &small, &node}, {.ranks = 5, .node_size = 2}, 10, partition));
  EXPECT_EQ(partition.ranks[3], (std::vector<int>{0, 1}));
  EXPECT_EQ(partition.ranks[0], std::vector<int>{2});
  EXPECT_EQ(partition.ranks[1], std::vector<int>{4});
  EXPECT_EQ(partition.ranks[2], std::vector<int>{3});
}

TEST(TorchrecPlanner, chooses_by_its_own_estimate) {
  // One table of 128 columns, two ranks, 512 samples each of one id, in microseconds: whole, 3 x (8192 + 2 x 524288) /
  // memory + 2 x 524288 / intra = 4.92; by rows, 3 x (4096 + 262144 + 524288) / memory + the same, and 1.34 to copy
  // gathered gradients, 5.43 in all; a copy of few rows less, as only the update and the all-reduce grow with rows.
  const std::vector<Feature> features{{"f", 0}};
  const auto kind = [&](std::int64_t rows, std::string_view planner) {
    const std::vector<Table> tables{{"t", rows, 128, {}}};
    const Plan plan = make_plan(planner, tables, features, {.ranks = 2, .global_batch = 1024});
    EXPECT_EQ(check(plan, tables), std::vector<std::string>());
    return std::string(kind_of(plan.tables[0]));
  };
  EXPECT_EQ(kind(10, "torchrec"), "data_parallel");
  EXPECT_EQ(kind(1000000, "torchrec"), "table_wise");
  EXPECT_EQ(kind(1000000, "torchrec:copy=1.45"), "row_wise");
  EXPECT_EQ(kind(1000000, "torchrec:copy=1.55"), "table_wise");
  EXPECT_EQ(kind(1000000, "torchrec:inter=1e9:elementwise=0"), "data_parallel");
}

TEST(TorchrecPlanner, keeps_memory_free) {
  // 1000 rows x 128 x 4 bytes = 512,000 bytes in two blocks of 256,000, 8 x 8 bytes of ids and 16 x 512 of vectors:
  // 264,256 of each rank, of which 20 x 8 x 8 = 1,280 and the reserve are not for tables.
  const std::vector<Table> tables{{"t", 1000, 128, {}}};
  const std::vector<Feature> features{{"f", 0}};
  const auto fits = [&](std::int64_t memory, std::string_view planner) {
    try {
      make_plan(planner, tables, features, {.ranks = 2, .global_batch = 16, .memory = memory});
      return true;
    } catch (const InputError&) {
      return false;
    }
  };
  EXPECT_TRUE(fits(265536, "torchrec:reserve=0"));
  EXPECT_FALSE(fits(265535, "torchrec:reserve=0"));
  EXPECT_TRUE(fits(2 * 265536, "torchrec:reserve=0.497"));
  EXPECT_FALSE(fits(2 * 265536, "torchrec:reserve=0.51"));
  EXPECT_FALSE(fits(265536 + 599, "torchrec:reserve=0:dense_bytes=100"));
  EXPECT_TRUE(fits(265536 + 600, "torchrec:reserve=0:dense_bytes=100"));
}

TEST(TorchrecPlanner, refuses_settings_that_mean_nothing) {
  const std::vector<Table> tables{{"t", 10, 4, {}}};
  const auto refused = [&](std::string_view planner) {
    try {
      make_plan(planner, tables, {}, {.ranks = 2});
      return false;
    } catch (const InputError&) {
      return true;
    }
  };
  EXPECT_FALSE(refused("torchrec:device=cpu"));
  EXPECT_TRUE(refused("torchrec:device=tpu"));
  EXPECT_TRUE(refused("torchrec:hbm=0"));
  EXPECT_TRUE(refused("torchrec:batch=0"));
  EXPECT_TRUE(refused("torchrec:intra=nan"));
  EXPECT_TRUE(refused("torchrec:least_columns=0"));
}

/// Of two tables on two ranks, by hand from the estimates of their shards.
TEST(TorchrecEstimate, of_a_plan_is_that_of_its_slowest_rank) {
  const std::vector<Table> tables{{"a", 100, 128, {}}, {"b", 1000, 128, {}}};
  const std::vector<Feature> features{{"f", 0}, {"g", 1, Pooling::sum, 3}};
  PlanRequest request{.ranks = 2, .global_batch = 1024};
  request.settings = {"torchrec", "", torchrec_settings};
  const TorchrecStep step{.ranks = 2, .node_size = 2, .samples = 512};
  const auto of_table = [&](TorchrecSharding sharding, std::size_t t) {
    return torchrec_perf(sharding, tables[t], std::span(&features[t], 1), 128, step, usual_machine()).total();
  };
  const auto seconds = [&](std::vector<TablePlacement> placements) {
    return torchrec_seconds({.name = "p", .ranks = 2, .tables = std::move(placements)}, tables, features, request);
  };
  const TablePlacement a0{.shards = {whole(tables[0], 0)}}, b0{.shards = {whole(tables[1], 0)}},
      b1{.shards = {whole(tables[1], 1)}}, copies{.data_parallel = true, .shards = {}};
  const TablePlacement b_rows{.shards = {{{0, 1000, 2}, 0, 128, 0}, {{1, 1000, 2}, 0, 128, 1}}};
  const double a = of_table(TorchrecSharding::table_wise, 0), b = of_table(TorchrecSharding::table_wise, 1);
  EXPECT_DOUBLE_EQ(seconds({a0, b0}).value(), a + b);
  EXPECT_DOUBLE_EQ(seconds({a0, b1}).value(), std::max(a, b));
  EXPECT_DOUBLE_EQ(seconds({a0, b_rows}).value(), a + of_table(TorchrecSharding::row_wise, 1));
  EXPECT_DOUBLE_EQ(seconds({copies, b1}).value(), of_table(TorchrecSharding::data_parallel, 0) + b);
  TablePlacement both_on_one = b_rows;
  both_on_one.shards[1].rank = 0;
  EXPECT_FALSE(seconds({a0, both_on_one}).has_value());
}

}  // namespace
}  // namespace shardmark::placement
