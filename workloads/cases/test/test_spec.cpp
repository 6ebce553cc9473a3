// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "reference/tensor_train/shape.hpp"
#include "workloads/cases/spec.hpp"

namespace shardmark::workloads {
namespace {

std::int64_t sum_of_rows(const Workload& workload) {
  return std::accumulate(workload.tables.begin(), workload.tables.end(), std::int64_t{0},
                         [](std::int64_t sum, const Table& table) { return sum + table.rows; });
}

std::string message_of(const nlohmann::ordered_json& json) {
  try {
    workload_from_json(json, "x.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Spec, BuiltInTablesAreThePublishedOnes) {
  const Workload kaggle = load_workload("criteo-kaggle");
  EXPECT_EQ(33762577, sum_of_rows(kaggle));
  EXPECT_EQ(26u, kaggle.features.size());
  EXPECT_EQ(16, kaggle.tables.front().dim);
  EXPECT_EQ(OptimizerKind::rowwise_adagrad, kaggle.tables.front().optimizer.kind);
  const Workload hugectr = load_workload("hugectr-dlrm");
  EXPECT_EQ(1221286, sum_of_rows(hugectr));
  EXPECT_EQ(65536, hugectr.global_batch);
  EXPECT_DOUBLE_EQ(1.845, published_ratio(hugectr.published_steps)->ratio);
}

TEST(Spec, EveryBuiltInSurvivesTheRoundTrip) {
  for (const std::string& name : builtin_workloads()) {
    const auto json = to_json(load_workload(name));
    EXPECT_EQ(json, to_json(workload_from_json(json, name))) << name;
  }
}

TEST(Spec, TablesNameOnlyWhatIsNotUsual) {
  Workload workload = load_workload("criteo-kaggle");
  workload.tables[1].optimizer.learning_rate = 0.5F;
  workload.tables[2].value_type = ValueType::fp16;
  const auto json = to_json(workload);
  EXPECT_EQ(3u, json.at("tables")[0].size());
  EXPECT_EQ(0.5, json.at("tables")[1].at("optimizer").at("learning_rate"));
  EXPECT_EQ("fp16", json.at("tables")[2].at("value_type"));
  EXPECT_EQ(json, to_json(workload_from_json(json, "x.json")));
}

TEST(Spec, TheBenchmarkOfFbttIsThePublishedOne) {
  const Workload fbtt = load_workload("fbtt");
  const TensorTrainShape shape = tensor_train_shape(fbtt.tables.front());
  EXPECT_EQ(shape.parameters(), 958720);
  EXPECT_EQ(shape.r[1], 32);
  EXPECT_EQ(shape.r[2], 32);
  EXPECT_EQ(fbtt.tables.front().rows, 11'000'000);
  EXPECT_EQ(fbtt.global_batch * fbtt.features.front().hotness, 10240);
  EXPECT_EQ(fbtt.ids.distribution, IdDistribution::uniform);
  EXPECT_EQ(fbtt.published_lookup->us, 0.416);  // 4.26 ms for an iteration of 10,240 lookups
  EXPECT_EQ(to_json(fbtt), to_json(workload_from_json(to_json(fbtt), "x.json")));
  // Scaled, it is still a tt of three cores, whose rows follow the table and whose ranks what it can have.
  for (const char* scale : {"1/64", "1/1000000", "1/11000000"}) {
    const Table table = load_workload("fbtt", scale).tables.front();
    EXPECT_LE(tensor_train_shape(table).rows(), 2 * table.rows) << scale;
  }
}

TEST(Spec, TensorTrainsNameOnlyWhatIsNotUsual) {
  Workload workload = load_workload("criteo-kaggle");
  workload.tables[1].storage = Storage::tt;
  workload.tables[2].tensor_train = {.ranks = {8, 4}, .cache = {.rows = 7, .writes = CacheWrites::read_only}};
  workload.ids.shift = 5;
  workload.tt_min_rows = 9;
  const auto json = to_json(workload);
  EXPECT_FALSE(json.at("tables")[1].contains("tensor_train"));
  EXPECT_EQ(json.at("tables")[2].at("tensor_train").dump(),
            R"({"ranks":[8,4],"cache":{"rows":7,"writes":"read_only"}})");
  const Workload back = workload_from_json(json, "x.json");
  EXPECT_EQ(back.tables[2].tensor_train, workload.tables[2].tensor_train);
  EXPECT_EQ(back.ids.shift, 5);
  EXPECT_EQ(back.tt_min_rows, 9);
  auto broken = json;
  broken["tables"][2]["tensor_train"]["ranks"] = {8, 4.5};
  EXPECT_EQ(
      "x.json: tables[2]: tensor_train: key \"ranks\" has the wrong type: [8,4.5] (wanted: list of whole numbers)",
      message_of(broken));
  broken["tables"][2]["tensor_train"] = {{"rank", 8}};
  EXPECT_EQ("x.json: tables[2]: tensor_train: unknown key \"rank\"; did you mean 'ranks'?", message_of(broken));
}

TEST(Spec, ScaleDividesRowsOnlyAndRoundsUp) {
  Workload workload = load_workload("criteo-kaggle");
  scale_rows(workload, 64);
  EXPECT_EQ(23, workload.tables[0].rows);  // 1460 / 64 = 22.8
  EXPECT_EQ(1, workload.tables[8].rows);   // 3 / 64
  EXPECT_EQ(16, workload.tables[0].dim);
  EXPECT_EQ(64, workload.scale);
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(scale_rows(workload, largest), InputError);
  for (Table& table : workload.tables) table.rows = largest;
  workload.scale = 1;
  scale_rows(workload, largest);
  for (const Table& table : workload.tables) EXPECT_EQ(1, table.rows);
  EXPECT_EQ(64, parse_scale("1/64"));
  EXPECT_EQ(1, parse_scale("1"));
  for (const char* text : {"", "0", "1/0", "-2", "1/2x", "half"}) EXPECT_THROW(parse_scale(text), InputError) << text;
}

TEST(Spec, ErrorsNameTheFileAndTheKey) {
  auto json = to_json(load_workload("criteo-kaggle"));
  auto broken = json;
  broken.erase("global_batch");
  EXPECT_EQ("x.json: key \"global_batch\" is missing", message_of(broken));
  broken = json;
  broken["tables"][3]["rows"] = 0;
  EXPECT_EQ("x.json: tables[3]: \"rows\" must be at least 1, got 0", message_of(broken));
  broken = json;
  broken["tables"][3]["dim"] = "wide";
  EXPECT_EQ("x.json: tables[3]: key \"dim\" has the wrong type: \"wide\" (wanted: whole number)", message_of(broken));
  broken = json;
  broken["features"][2]["table"] = "C99";
  EXPECT_EQ("x.json: features[2]: no table is called \"C99\"; did you mean 'C9'?", message_of(broken));
  broken = json;
  broken["tables"][1]["name"] = "C1";
  EXPECT_EQ("x.json: two tables are called \"C1\"", message_of(broken));
  broken = json;
  broken["features"][2]["hotness"] = -1;
  EXPECT_EQ("x.json: features[2]: \"hotness\" must be at least 0, got -1", message_of(broken));
  broken = json;
  broken["tables"][3]["optimizer"] = {{"name", "sgd"}, {"rate", 1}};
  EXPECT_EQ("x.json: tables[3]: optimizer: unknown key \"rate\"; did you mean 'learning_rate'?", message_of(broken));
  broken = json;
  broken["tables"][3]["optimizer"] = {{"name", "sgd"}, {"learning_rate", -1}};
  EXPECT_EQ("x.json: tables[3]: optimizer: \"learning_rate\" must be at least 0, got -1", message_of(broken));
  broken = json;
  broken["ids"]["alpha"] = -0.5;
  EXPECT_EQ("x.json: ids: \"alpha\" must be at least 0, got -0.5", message_of(broken));
  broken = json;
  broken["replicate_rows"] = -5;
  EXPECT_EQ("x.json: \"replicate_rows\" must be at least 0, got -5", message_of(broken));
  broken = json;
  broken["tables"][3]["rows"] = std::uint64_t{1} << 63U;
  EXPECT_EQ("x.json: tables[3]: \"rows\" is too large or too small: 9223372036854775808", message_of(broken));
  broken = json;
  broken["features"][2]["name"] = "C1";
  EXPECT_EQ("x.json: two features are called \"C1\"", message_of(broken));
  broken = json;
  broken["tables"] = nlohmann::ordered_json::array();
  EXPECT_EQ("x.json: there are no tables", message_of(broken));
  broken = json;
  broken["batch"] = 3;
  EXPECT_EQ("x.json: unknown key \"batch\"; did you mean 'global_batch'?", message_of(broken));
  EXPECT_THROW(load_workload("no-such"), InputError);
  EXPECT_THROW(load_workload("no-such.json"), InputError);
}

}  // namespace
}  // namespace shardmark::workloads
