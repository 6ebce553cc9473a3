// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reference/output_file.hpp"
#include "results/registered.hpp"
#include "results/table/register_page.hpp"
#include "results/test/sample_records.hpp"

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;

/// A prediction of sample_case(plan, ms), on the eve of sample_environment().
Registered predicted(const std::string& plan, double ms) {
  const CaseRecord record = sample_case(plan, ms);
  Registered registered{.time = "2026-11-20T06:12:00Z",
                        .build = {{"git_hash", "0123456789abcdef"}},
                        .workload = record.workload,
                        .spec = {{"name", record.workload}},
                        .machine = {"box", "described", false, "00112233"},
                        .within = 0.25,
                        .steps = {{.plan = plan, .plan_digest = "d-" + plan, .ranks = 2, .step_ms = ms}}};
  registered.steps.front().options = record.options;
  return registered;
}

CaseRecord measured(const std::string& plan, double ms) {
  CaseRecord record = sample_case(plan, ms);
  record.details[plan_digest_field] = "d-" + plan;
  return record;
}

Standing standing(const Registered& registered, const CaseRecord& record, const Json& environment) {
  const std::string since = measured_since({environment, {}}, "m.jsonl");
  return standing_of(registered, registered.steps.front(), record, since);
}

TEST(Registered, OlderPredictionsAreHeldAgainstTheirStatedError) {
  const Registered ten = predicted("a", 10.0);
  for (const auto& [ms, expected] : {std::pair(8.0, Standing::registered), std::pair(7.9, Standing::refuted),
                                     std::pair(13.3, Standing::registered), std::pair(13.4, Standing::refuted)})
    EXPECT_EQ(standing(ten, measured("a", ms), sample_environment()), expected) << ms;
}

TEST(Registered, OnlyWhatIsOlderThanTheFirstJobCounts) {
  Registered registered = predicted("a", 10.0);
  Json environment = sample_environment();
  registered.time = environment.at("time");
  EXPECT_EQ(standing(registered, measured("a", 10.0), environment), Standing::younger);
  registered.time = "2026-11-21T06:11:59Z";
  EXPECT_EQ(standing(registered, measured("a", 10.0), environment), Standing::registered);
  environment["resumed"] = {{{"time", "2026-11-21T05:00:00Z"}, {"rounds", 3}}};
  EXPECT_EQ(standing(registered, measured("a", 10.0), environment), Standing::younger);
}

TEST(Registered, WrongAndUncheckedCasesDoNotCount) {
  CaseRecord wrong = measured("a", 10.0), unchecked = wrong;
  wrong.wrong = 1;
  unchecked.checked_steps = 0;
  for (const CaseRecord& record : {wrong, unchecked})
    EXPECT_EQ(standing(predicted("a", 10.0), record, sample_environment()), Standing::not_valid);
}

TEST(Registered, ACaseIsItsWorkloadPlanRanksAndOptions) {
  const Registered registered = predicted("a", 10.0);
  const auto differing = [&](auto&& change) {
    CaseRecord record = measured("a", 10.0);
    change(record);
    return differences(registered, registered.steps.front(), record);
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(differing([](CaseRecord& record) { record.options["batches"] = 7; }), Texts{});
  EXPECT_EQ(differing([](CaseRecord& record) { record.plan = "b"; }), Texts{});  // placed alike
  EXPECT_EQ(differing([](CaseRecord& record) { record.options["batch"] = 8192; }),
            Texts{"batch 8192, predicted with 16384"});
  EXPECT_EQ(differing([](CaseRecord& record) { record.details[plan_digest_field] = "other"; }),
            Texts{"another plan of that name"});
  EXPECT_FALSE(differing([](CaseRecord& record) { record.workload = "other"; }));
  EXPECT_FALSE(differing([](CaseRecord& record) { record.ranks = 4; }));
}

TEST(Registered, ThePageCallsEachPredictionByItsWord) {
  Registered registered = predicted("a", 10.0);
  registered.steps.push_back(predicted("b", 30.0).steps.front());
  registered.steps.push_back(predicted("c", 5.0).steps.front());
  CaseRecord other = measured("c", 5.0);
  other.options["exchange"] = "bruck";
  const std::vector<MeasuredFile> files{
      {"m.jsonl", {sample_environment(), {measured("a", 8.0), measured("b", 20.0), other}}}};
  const RegisterPage page = register_page(registered, "r.json", files);
  EXPECT_EQ(page.matched, 2);
  for (const char* text :
       {"+25.0 registered", "+50.0 refuted", "- not measured",
        "# c on 2 ranks: m.jsonl has it with exchange bruck, predicted with mpi_alltoallv\n",
        "# 1 registered, 1 refuted, 1 not measured; those that count are 37.5 % off on average (MAPE)"})
    EXPECT_NE(page.text.find(text), std::string::npos) << text << "\n" << page.text;
}

class RegisteredFile : public FolderTest {
 protected:
  std::string write(const std::string& text) const {
    write_file(folder / "r.json", text);
    return folder / "r.json";
  }
};

TEST_F(RegisteredFile, IsReadAsItWasWritten) {
  const Registered registered = predicted("a", 10.0 / 3.0);
  for (const int indent : {-1, 2})
    EXPECT_EQ(to_json(read_registered(write(to_json(registered).dump(indent)))), to_json(registered));
}

/// Any value of it: numbers, texts, the time, the hash.
TEST_F(RegisteredFile, IsRefusedWhereAnyValueWasChanged) {
  const Json flat = to_json(predicted("a", 10.0)).flatten();
  for (const auto& [pointer, value] : flat.items()) {
    if (pointer == "/format") continue;
    Json changed = flat;
    changed[pointer] = value.is_string()   ? Json(value.get<std::string>() + "0")
                       : value.is_number() ? Json(77)
                                           : Json("x");
    const std::string file = write(changed.unflatten().dump());
    EXPECT_TRUE(input_error([&] { read_registered(file); }).starts_with(file + ": was changed after it was registered"))
        << pointer;
  }
}

TEST_F(RegisteredFile, IsRefusedByNameWhereItIsNone) {
  EXPECT_NE(input_error([&] { read_registered(folder / "none"); }).find("cannot be read"), std::string::npos);
  EXPECT_NE(input_error([&] { read_registered(write("{")); }).find("r.json:1:"), std::string::npos);
  EXPECT_NE(input_error([&] { read_registered(write("[]")); }).find("shardmark-registered/1"), std::string::npos);
  Json json = to_json(predicted("a", 10.0));  // as another program could write it, with a hash that is right
  json.erase("within");
  json.erase("hash");
  json["hash"] = digest_of(json.dump());
  EXPECT_TRUE(input_error([&] { read_registered(write(json.dump())); }).ends_with("lacks 'within'; predict again"));
}

}  // namespace
}  // namespace shardmark::results
