// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "comm/placement/planner.hpp"
#include "comm/placement/support.hpp"

namespace shardmark::placement {
namespace {

class TensorTrainPlans : public testing::Test {
 protected:
  /// What require_supported says of a plan by this planner.
  std::string refusal(std::string_view planner, int ranks = 3) const {
    try {
      const Plan plan = make_plan(planner, tables_, features_, {.ranks = ranks, .replicate_rows = 0});
      require_supported(plan, tables_, features_, {});
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }
  void expect_refusal(std::string_view planner, const std::vector<std::string>& words) const {
    for (const std::string& word : words)
      EXPECT_NE(refusal(planner).find(word), std::string::npos) << planner << ": " << refusal(planner);
  }
  Table& tt() { return tables_[1]; }

  std::vector<Table> tables_{{.name = "dense", .rows = 100, .dim = 8},
                             {.name = "train", .rows = 1000, .dim = 16, .storage = Storage::tt}};
  std::vector<Feature> features_{{.name = "f", .table = 0}, {.name = "g", .table = 1, .pooling = Pooling::max}};
};

TEST(DynamicPlans, RowsThatComeAndGoHaveOnePlace) {
  std::vector<Table> tables{{.name = "ids", .rows = 100, .dim = 8, .storage = Storage::dynamic}};
  const std::vector<Feature> features{{.name = "f", .table = 0}};
  const auto refusal = [&](std::string_view planner) -> std::string {
    try {
      require_supported(make_plan(planner, tables, features, {.ranks = 3, .replicate_rows = 0}), tables, features, {});
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  for (const char* planner : {"table_wise", "row_wise", "column_wise"}) EXPECT_EQ(refusal(planner), "") << planner;
  for (const char* planner : {"data_parallel", "hot_rows:rows=10"})
    EXPECT_NE(refusal(planner).find("of table ids, but rows of storage dynamic come and go in one place; place it "
                                    "table_wise or row_wise"),
              std::string::npos)
        << refusal(planner);
  tables.front().dynamic.eviction = {EvictionKind::l2, 0.5};
  EXPECT_EQ(refusal("row_wise"), "");
  EXPECT_NE(refusal("column_wise").find("evict l2 takes the norm of whole rows"), std::string::npos);
}

TEST_F(TensorTrainPlans, WholeTablesAreSupported) {
  EXPECT_EQ(refusal("table_wise"), "");
  EXPECT_EQ(refusal("data_parallel"), "");
  for (const char* planner : {"row_wise", "column_wise"}) EXPECT_EQ(refusal(planner, 1), "") << planner;
}

TEST_F(TensorTrainPlans, SplitTablesAreRefusedByName) {
  expect_refusal("row_wise", {"plan row_wise", "table train", "row_wise", "1000 rows", "data_parallel or table_wise"});
  expect_refusal("column_wise", {"plan column_wise", "table train", "column_wise", "data_parallel or table_wise"});
  tt().storage = Storage::dense;
  features_[1].pooling = Pooling::sum;
  EXPECT_EQ(refusal("row_wise"), "");
}

TEST_F(TensorTrainPlans, HotRowsAreRefusedByName) {
  const std::string words = "hot_rows:rows=10";
  expect_refusal(words,
                 {"plan " + words, "table train", "hot_rows+row_wise", "1000 rows", "data_parallel or table_wise"});
  tt().storage = Storage::dense;
  expect_refusal(words,
                 {"plan " + words, "first 10 rows of table train", "feature g pools by max", "without hot_rows"});
  features_[1].pooling = Pooling::mean;
  EXPECT_EQ(refusal(words), "");
}

TEST_F(TensorTrainPlans, ThePlanSaysTheStorage) {
  Plan plan = make_plan("row_wise", tables_, features_, {.ranks = 2});
  features_[1].pooling = Pooling::sum;
  EXPECT_THROW(require_supported(plan, tables_, features_, {}), InputError);
  plan.tables[1].storage = Storage::dense;
  EXPECT_NO_THROW(require_supported(plan, tables_, features_, {}));
  plan.tables[0].storage = Storage::tt;
  EXPECT_THROW(require_supported(plan, tables_, features_, {}), InputError);
}

TEST_F(TensorTrainPlans, ReplicasHaveNoTrainedCache) {
  tt().tensor_train.cache.rows = 50;
  EXPECT_EQ(refusal("table_wise"), "");
  expect_refusal("data_parallel", {"plan data_parallel", "table train", "cache of 50 rows", "read_only"});
  tt().tensor_train.cache.writes = CacheWrites::read_only;
  EXPECT_EQ(refusal("data_parallel"), "");
}

TEST_F(TensorTrainPlans, CoresAreNoInt8) {
  tt().value_type = ValueType::int8;
  tt().optimizer.kind = OptimizerKind::none;
  expect_refusal("table_wise", {"table train", "int8", "fp16"});
  tt().storage = Storage::dense;
  EXPECT_EQ(refusal("table_wise"), "");
}

TEST_F(TensorTrainPlans, ShapesAreChecked) {
  tt().tensor_train.dim_shape = {2, 2, 5};
  expect_refusal("table_wise", {"table train", "2,2,5", "20", "16"});
  tt().tensor_train.dim_shape = {};
  tt().tensor_train.cache.rows = 1001;
  expect_refusal("table_wise", {"table train", "1001", "1000"});
}

TEST(Support, SumsOnTheWayTakeOneShardOfEachRankInFp32) {
  const std::vector<Table> tables{{.name = "t", .rows = 4, .dim = 2}};
  const std::vector<Feature> features{{.name = "f", .table = 0}};
  const auto refusal = [&](const Plan& plan, const Movement& movement) -> std::string {
    try {
      require_supported(plan, tables, features, movement);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  Plan plan{.name = "p", .ranks = 2, .tables = {{.shards = {{{0, 2, 1}, 0, 2, 0}, {{2, 4, 1}, 0, 2, 1}}}}};
  EXPECT_EQ(refusal(plan, {.transfer = RowTransfer::reduce_scatter}), "");
  EXPECT_EQ(refusal(plan, {.transfer = RowTransfer::reduce_scatter, .wire = {ValueType::fp32, ValueType::bf16}})
                .find("transfer reduce_scatter: "),
            0u);
  plan.tables[0].shards[1].rank = 0;
  EXPECT_EQ(refusal(plan, {.transfer = RowTransfer::dense_partials}), "");
  EXPECT_EQ(refusal(plan, {.transfer = RowTransfer::reduce_scatter_pairwise})
                .find("plan p: rank 0 holds two row shards of the same columns of table t"),
            0u);
}

TEST(Support, NodesAddInAnyWireTypeButNoMaxima) {
  const std::vector<Table> tables{{.name = "t", .rows = 4, .dim = 2}};
  std::vector<Feature> features{{.name = "f", .table = 0}};
  const Plan plan{.name = "p", .ranks = 2, .tables = {{.shards = {{{0, 2, 1}, 0, 2, 0}, {{2, 4, 1}, 0, 2, 1}}}}};
  const Movement movement{.transfer = RowTransfer::node_partials, .wire = {ValueType::int8, ValueType::bf16}};
  EXPECT_EQ(unsupported(plan, tables, features, movement), std::vector<std::string>());
  features[0].pooling = Pooling::max;
  const auto problems = unsupported(plan, tables, features, movement);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("feature f pools by max"), std::string::npos) << problems[0];
  EXPECT_NE(problems[0].find("node_partials adds parts of bags"), std::string::npos) << problems[0];
}

TEST(Support, OptimizersThatSumOverRowsNeedTheSameRowsInAllColumns) {
  std::vector<Table> tables{{.name = "t", .rows = 4, .dim = 4, .optimizer = {.kind = OptimizerKind::rowwise_adagrad}}};
  Plan plan{.name = "p",
            .ranks = 2,
            .tables = {{.shards = {{{0, 2, 1}, 0, 2, 0}, {{2, 4, 1}, 0, 2, 1}, {{0, 4, 1}, 2, 4, 1}}}}};
  EXPECT_THROW(require_supported(plan, tables, {}, {}), InputError);
  tables[0].optimizer.kind = OptimizerKind::adagrad;
  EXPECT_NO_THROW(require_supported(plan, tables, {}, {}));
  tables[0].optimizer.kind = OptimizerKind::rowwise_adagrad;
  plan.tables[0].shards = {{{0, 2, 1}, 0, 2, 0}, {{2, 4, 1}, 0, 2, 1}, {{0, 2, 1}, 2, 4, 1}, {{2, 4, 1}, 2, 4, 0}};
  EXPECT_NO_THROW(require_supported(plan, tables, {}, {}));
}

}  // namespace
}  // namespace shardmark::placement
