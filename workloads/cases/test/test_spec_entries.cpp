// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "workloads/cases/spec.hpp"

namespace shardmark::workloads {
namespace {

using Json = nlohmann::ordered_json;

Json spec_of(const char* tables, const char* features) {
  return {{"name", "x"},
          {"global_batch", 8},
          {"optimizer", {{"name", "sgd"}}},
          {"tables", Json::parse(tables)},
          {"features", Json::parse(features)}};
}

std::string refusal(const Json& json) {
  try {
    workload_from_json(json, "x.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

/// "name:table:hotness ..."
std::string features_of(const Workload& workload) {
  std::string text;
  for (const Feature& feature : workload.features)
    text += fmt::format("{}:{}:{} ", feature.name, workload.tables[feature.table].name, feature.hotness);
  return text;
}

TEST(SpecEntries, CountsMakeTablesAndAFeatureOfEach) {
  const Json json = spec_of(
      R"([{"name": "a", "rows": 4, "dim": 2}, {"name": "T", "count": 3, "rows": 5, "dim": 2, "value_type": "fp16"}])",
      R"([{"name": "F", "table": "T", "hotness": 7}, {"name": "one", "table": "T_1"}, {"name": "a", "table": "a"}])");
  const Workload workload = workload_from_json(json, "x.json");
  ASSERT_EQ(workload.tables.size(), 4U);
  EXPECT_EQ(workload.tables[3].name, "T_2");
  EXPECT_EQ(workload.tables[3].rows, 5);
  EXPECT_EQ(workload.tables[3].value_type, ValueType::fp16);
  EXPECT_EQ(features_of(workload), "F_0:T_0:7 F_1:T_1:7 F_2:T_2:7 one:T_1:1 a:a:1 ");
  EXPECT_EQ(to_json(workload).at("tables"), json.at("tables"));
  EXPECT_EQ(to_json(workload).at("features").size(), 3U);
}

TEST(SpecEntries, ThousandsOfTablesStayAScreen) {
  const Json json = to_json(load_workload("synthetic-colossal"));
  EXPECT_EQ(json.at("tables").size(), 9U);
  EXPECT_EQ(json.at("features").size(), 12U);
}

TEST(SpecEntries, OnlyNeighboursThatAreAlikeAreWrittenAsOne) {
  Workload workload = load_workload("synthetic-tiny");
  workload.tables[10].optimizer.learning_rate = 0.5F;
  const Json json = to_json(workload);
  EXPECT_EQ(json.at("tables").size(), 9U + 10U);  // six alike, and ten one by one
  EXPECT_EQ(json, to_json(workload_from_json(json, "x.json")));
  EXPECT_EQ(workload_from_json(json, "x.json").tables[10].optimizer.learning_rate, 0.5F);
}

TEST(SpecEntries, WhatIsWrittenIsReadBack) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto draw = [&](int end) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(end)); };
    Workload workload;
    workload.name = "x";
    workload.global_batch = 8;
    const auto add = [&](const std::string& name) {
      if (std::ranges::find(workload.tables, name, &Table::name) == workload.tables.end())
        workload.tables.push_back({name, 1 + draw(2), 2});
    };
    for (const char* stem : {"T", "T_0", "b", "T_0_0"}) {
      if (draw(2) == 0) add(stem);
      for (std::int64_t i = draw(2), end = draw(5); i < end; ++i) add(fmt::format("{}_{}", stem, i));
    }
    if (workload.tables.empty()) continue;
    for (std::int64_t f = 0; f < 9; ++f)
      workload.features.push_back({fmt::format("F_{}", f), draw(static_cast<int>(workload.tables.size()))});
    for (std::size_t t = 0; t < workload.tables.size(); ++t)
      workload.features.push_back(
          {workload.tables[t].name, static_cast<std::int64_t>(t), Pooling::sum, 1 + draw(2) / 2});
    const Workload back = workload_from_json(to_json(workload), "x.json");
    EXPECT_EQ(features_of(back), features_of(workload));
    ASSERT_EQ(back.tables.size(), workload.tables.size());
    for (std::size_t t = 0; t < back.tables.size(); ++t) {
      EXPECT_EQ(back.tables[t].name, workload.tables[t].name);
      EXPECT_EQ(back.tables[t].rows, workload.tables[t].rows);
    }
  }
}

TEST(SpecEntries, ErrorsNameTheEntry) {
  const char* one = R"([{"name": "T", "count": 3, "rows": 5, "dim": 2}])";
  EXPECT_EQ(refusal(spec_of(one, R"([{"name": "F", "table": "T"}])")), "accepted");
  EXPECT_EQ(refusal(spec_of(one, R"([{"name": "F", "table": "T_3"}])")),
            "x.json: features[0]: no table is called \"T_3\"");
  EXPECT_EQ(refusal(spec_of("[]", "[]")), "x.json: there are no tables");
  EXPECT_EQ(refusal(spec_of(one, "[]")), "x.json: there are no features");
  const auto refused = [](const char* tables) { return refusal(spec_of(tables, R"([{"name": "F", "table": "T"}])")); };
  EXPECT_EQ(refused(R"([{"name": "T", "count": 0, "rows": 5, "dim": 2}])"),
            "x.json: tables[0]: \"count\" must be at least 1, got 0");
  EXPECT_EQ(refused(R"([{"name": "T", "count": 1000001, "rows": 5, "dim": 2}])"),
            "x.json: tables[0]: \"count\" must be at most 1000000, got 1000001");
  EXPECT_EQ(refused(R"([{"name": "T", "count": 2, "rows": 5, "dim": 2}, {"name": "T_1", "rows": 5, "dim": 2}])"),
            "x.json: two tables are called \"T_1\"");
  EXPECT_EQ(refused(R"([{"name": "T", "count": 2, "rows": 5, "dim": 2}, {"name": "T", "rows": 5, "dim": 2}])"),
            "x.json: two tables are called \"T\"");
}

}  // namespace
}  // namespace shardmark::workloads
