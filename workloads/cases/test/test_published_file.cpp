// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "results/test/sample_records.hpp"
#include "workloads/cases/published_file.hpp"

namespace shardmark::workloads {
namespace {

using Json = nlohmann::ordered_json;

class PublishedSteps : public results::FolderTest {
 protected:
  PublishedSteps() {
    Json step{{"workload", "fbtt"},   {"group", "A"},         {"ranks", 8}, {"nodes", 2},
              {"plan", "table_wise"}, {"set", {"wire=fp16"}}, {"ms", 2.5},  {"source", "they"}};
    file = {{"format", published_format}, {"title", "t"}, {"steps", {step, step}}};
    file["steps"][1]["ranks"] = 16;
  }

  PublishedFile loaded() const {
    write_file(folder / "p.json", file.dump(1));
    return load_published(folder / "p.json");
  }

  /// What is wrong, behind the file's name and place.
  std::string refusal(const std::string& pointer, const Json& value) {
    const Json before = file;
    file[Json::json_pointer(pointer)] = value;
    const std::string text = results::input_error([&] { loaded(); });
    file = before;
    const std::string name = (folder / "p.json").string() + ":";
    EXPECT_TRUE(text.starts_with(name)) << text;
    return text.substr(text.find(": ", name.size()) + 2);
  }

  Json file;
};

TEST_F(PublishedSteps, AreReadWithWhatTheyRanWith) {
  file["format"] = "shardmark-published";
  const PublishedCase first = loaded().steps.front();
  EXPECT_EQ(first.workload, "fbtt");
  EXPECT_EQ(first.nodes, 2);
  EXPECT_FALSE(first.global_batch);
  EXPECT_EQ(first.step.settings, std::vector<std::string>{"wire=fp16"});
  EXPECT_EQ(first.step.ms, 2.5);
  EXPECT_EQ(first.step.machine, "");
}

TEST_F(PublishedSteps, ArePairsWhereTheyDifferInRanksAlone) {
  const auto steps = loaded().steps;
  EXPECT_TRUE(steps[0].differs_in_ranks_alone(steps[1]));
  EXPECT_FALSE(steps[0].differs_in_ranks_alone(steps[0]));
  for (const char* key : {"group", "software", "machine", "plan"}) {
    file["steps"][1][key] = "other";
    EXPECT_FALSE(steps[0].differs_in_ranks_alone(loaded().steps[1])) << key;
    file["steps"][1][key] = file["steps"][0].value(key, "");
  }
  file["steps"][1]["source"] = "others";
  EXPECT_TRUE(steps[0].differs_in_ranks_alone(loaded().steps[1]));
}

TEST_F(PublishedSteps, AreRefusedByLineAndKey) {
  EXPECT_EQ(refusal("/format", "shardmark-plan/1"),
            "\"format\" is \"shardmark-plan/1\", not \"shardmark-published/1\"");
  EXPECT_EQ(refusal("/steps/1/ms", 0), "steps[1]: \"ms\" must be above 0");
  EXPECT_EQ(refusal("/steps/1/nodes", 3), "steps[1]: \"nodes\": 16 ranks are not evenly on 3 nodes");
  EXPECT_EQ(refusal("/steps/0/rank", 8), "steps[0]: unknown key \"rank\"; did you mean 'ranks'?");
  EXPECT_EQ(refusal("/steps/0/source", 8), "steps[0]: key \"source\" has the wrong type: 8 (wanted: text)");
  EXPECT_EQ(refusal("/steps", Json::array()), "\"steps\" has none");
}

TEST(BuiltinPublished, FilesSayThatTheyAreNotVerified) {
  for (const std::string& name : builtin_published())
    EXPECT_NE(load_published(name).notice.find("not verified by MLCommons Association"), std::string::npos) << name;
}

}  // namespace
}  // namespace shardmark::workloads
