// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "results/table/advice.hpp"
#include "results/test/sample_records.hpp"

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;

/// Two plans of clear intervals, balanced ranks and unscaled tables on one host: nothing is left to advise.
struct Measured {
  std::vector<CaseRecord> cases{sample_case("table_wise", 30.0), sample_case("column_wise", 40.0)};
  Json environment = sample_environment();

  Measured() {
    for (CaseRecord& record : cases) {
      record.options["scale"] = 1;
      record.options["replicated_gradients"] = "dense";
      record.phases = {
          {"input_dist", 3.0, 3.0, 1}, {"lookup", 11.0, 1.75, 1}, {"grad_dist", 7.0, 7.0, 1}, {"update", 9.0, 4.0, 1}};
      record.details["seconds"] = 5.0;
    }
  }
  Findings findings() const { return findings_of(environment, cases); }
};

TEST(Advice, NothingIsLeftToTryWhereNoRuleApplies) {
  const Measured measured;
  for (const Rule& rule : rules) EXPECT_EQ(rule.advise(measured.findings()), std::nullopt) << rule.name;
  EXPECT_EQ(advice(measured.findings()), std::vector<std::string>{});
}

/// What makes a rule apply, and what its advice must say.
struct Situation {
  std::string rule;
  std::string says;
  std::function<void(Measured&)> change;
};

void on_two_hosts(Measured& m) { m.environment["ranks"][1]["host"] = "node2"; }
void time_of(Measured& m, std::size_t phase, double ms) {
  for (CaseRecord& record : m.cases) record.phases[phase].median_ms = ms;
}

const std::vector<Situation> situations{
    {"slow build", "this one is Debug", [](Measured& m) { m.environment["build"]["type"] = "Debug"; }},
    {"threads", "6 threads shared 4 processors of node1",
     [](Measured& m) {
       for (Json& rank : m.environment["ranks"]) rank["threads"] = 3;
     }},
    {"one plan", "shardmark compare criteo-kaggle", [](Measured& m) { m.cases.pop_back(); }},
    {"one plan", "shardmark compare my.json",
     [](Measured& m) {
       m.cases.pop_back();
       m.environment["arguments"] = {"shardmark", "run", "my.json"};
     }},
    {"one plan", "shardmark compare criteo-kaggle",
     [](Measured& m) {
       m.cases.pop_back();
       m.environment["arguments"] = {"shardmark", "run", "--batch", "4096", "my.json"};
     }},
    {"wide intervals", "--seconds 20 (now 5): intervals are ± 10 % wide",
     [](Measured& m) {
       m.cases[0].step_ms = step_time({27.0, 28.0, 30.0, 30.0, 32.0, 33.0});
     }},
    {"wide intervals", "--steps 24 (now 6): intervals are ± 2 % wide",
     [](Measured& m) {
       m.cases[0].details = m.cases[1].details = {{"steps", 6}};
       m.cases[0].step_ms = step_time({29.5, 29.5, 30.0, 30.0, 30.5, 30.5});
       m.cases[1].step_ms = step_time({30.0, 30.0, 30.1, 30.1, 30.2, 30.2});
     }},
    {"wide intervals", "fewer than 6 samples give no interval",
     [](Measured& m) { m.cases[0].step_ms = step_time({30.0}); }},
    {"split rows", "row_wise was measured with dense_partials alone",
     [](Measured& m) { m.cases[1].plan = "row_wise"; }},
    {"exchanges", "fp16 halves their bytes, though on one host", [](Measured& m) { time_of(m, 0, 9.0); }},
    {"exchanges", "exchanges are 45 % of the step, and fp16 halves their bytes",
     [](Measured& m) {
       time_of(m, 0, 9.5);
       on_two_hosts(m);
     }},
    {"exposed calls", "--groups 4: ranks wait for 50 % of the step",
     [](Measured& m) {
       on_two_hosts(m);
       m.cases[0].exposed_ms = 15.0;
     }},
    {"unequal ranks", "looks up 1.25 times the mean", [](Measured& m) { m.cases[0].imbalance = 1.25; }},
    {"lookup", "--dtype fp16 halves what is read", [](Measured& m) { time_of(m, 1, 30.0); }},
    {"lookup", "only 52 % of the rows lie in them; shardmark doctor",
     [](Measured& m) {
       time_of(m, 1, 30.0);
       m.cases[0].details["huge_page_share"] = 0.521;
     }},
    {"updates", "--replicated-gradients rows: updates are 49 % of the step",
     [](Measured& m) {
       m.cases[0].plan = "data_parallel+table_wise";
       time_of(m, 3, 20.0);
     }},
    {"scale", "tables of 1/64 of their rows",
     [](Measured& m) {
       for (CaseRecord& record : m.cases) record.options["scale"] = 64;
     }},
};

TEST(Advice, EachRuleSpeaksInItsSituationAlone) {
  for (const Situation& situation : situations) {
    Measured measured;
    situation.change(measured);
    const Findings findings = measured.findings();
    for (const Rule& rule : rules) {
      const auto text = rule.advise(findings);
      if (rule.name == situation.rule)
        EXPECT_NE(text.value_or("").find(situation.says), std::string::npos) << rule.name << ": " << text.value_or("-");
      else
        EXPECT_EQ(text, std::nullopt) << rule.name << " in " << situation.rule << ": " << situation.says;
    }
  }
}

TEST(Advice, EveryRuleHasASituation) {
  for (const Rule& rule : rules)
    EXPECT_NE(std::ranges::find(situations, rule.name, &Situation::rule), situations.end()) << rule.name;
}

TEST(Advice, WhatHasBeenComparedIsNotAdvised) {
  Measured measured;
  time_of(measured, 0, 9.0);
  measured.cases[1].options["wire_forward"] = "fp16";
  EXPECT_EQ(if_exchanges_dominate(measured.findings()), std::nullopt);
  measured.cases[1].plan = "row_wise";
  measured.cases[1].options["transfer"] = "unique_rows";
  EXPECT_EQ(if_rows_are_split_one_way(measured.findings()), std::nullopt);
}

TEST(Advice, IsOfThreeRulesAtMost) {
  Measured measured;
  measured.cases.pop_back();
  measured.cases[0].options["scale"] = 64;
  measured.cases[0].imbalance = 2.0;
  measured.cases[0].phases[1].median_ms = 40.0;
  measured.environment["build"]["type"] = "Debug";
  const auto lines = advice(measured.findings());
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], "Next: measure with an optimised build (preset release); this one is Debug.");
}

TEST(Advice, AnEnvironmentThatLacksEverythingIsNoReason) {
  Measured measured;
  measured.environment = Json::parse(R"({"record": "environment", "ranks": [1, {"threads": "x"}], "machine": []})");
  for (const Rule& rule : rules) EXPECT_EQ(rule.advise(measured.findings()), std::nullopt) << rule.name;
}

}  // namespace
}  // namespace shardmark::results
