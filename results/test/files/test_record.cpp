// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>

#include "results/record.hpp"
#include "results/test/sample_records.hpp"

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;

CaseRecord small_case() {
  CaseRecord record = sample_case("row_wise", 2.0);
  record.step_ms = step_time({2.0, 3.0, 2.5});
  record.samples_per_s = samples_per_second(1000, 2.5);
  record.phases = {{"lookup", 1.5, 1.25, 4096}};
  record.options["wire_backward"] = "bf16";
  record.options["batch"] = 1000;
  record.changed = {"scale", "wire_backward"};
  return record;
}

constexpr const char* small_case_line =
    R"({"record":"case","workload":"criteo-kaggle","plan":"row_wise",)"
    R"("options":{"scale":64,"transfer":"dense_partials","exchange":"mpi_alltoallv","wire_forward":"fp32",)"
    R"("wire_backward":"bf16","groups":1,"optimizer":"rowwise_adagrad","batch":1000,"ids.alpha":1.05},)"
    R"("changed":["scale","wire_backward"],"ranks":2,"threads":1,)"
    R"("step_ms":{"median":2.5,"low":2.0,"high":3.0,"n":3,"samples":[2.0,3.0,2.5]},"samples_per_s":400000.0,)"
    R"("phases":{"lookup":{"median_ms":1.5,"mean_over_ranks_ms":1.25,"bytes":4096}},"imbalance":1.0625,)"
    R"("sent_bytes_max":6815744,"predicted_ms":null,"checked_steps":3,"wrong":0,"seed":7})";

TEST(Record, IsWrittenInTheFieldsOfItsSchema) { EXPECT_EQ(to_json(small_case()).dump(), small_case_line); }

TEST(Record, IsReadFromTheFieldsOfItsSchema) {
  EXPECT_EQ(case_record_from_json(Json::parse(small_case_line), "a:2"), small_case());
}

/// Steps of one visit are alike, so that an interval over the steps would be narrow; the visits are not.
TEST(Record, TheIntervalIsThatOfTheVisits) {
  const std::vector<double> samples{10, 10, 10, 13, 13, 13, 11, 11, 11, 12, 12, 12, 14, 14, 14, 15, 15, 15};
  const StepTime steps = step_time(samples, {3, 3, 3, 3, 3, 3});
  EXPECT_EQ(steps.median, 12.5);
  EXPECT_EQ(steps.low, 10);
  EXPECT_EQ(steps.high, 15);
  EXPECT_EQ(steps.visit_count(), 6);
  EXPECT_LT(step_time(samples).high, 15);
  EXPECT_THROW(step_time(samples, {3, 3}), std::invalid_argument);
  EXPECT_THROW(step_time(samples, {18, 1}), std::invalid_argument);
  EXPECT_THROW(step_time(samples, {18, 0}), std::invalid_argument);
}

/// Visits may differ in length, and the median of all steps may then lie outside of the medians of all visits but one.
TEST(Record, TheIntervalHoldsTheMedian) {
  const StepTime steps = step_time({1, 1, 1, 1, 1, 9, 9}, {5, 1, 1});
  EXPECT_LE(steps.low, steps.median);
  EXPECT_LE(steps.median, steps.high);
}

TEST(Record, VisitsAreWrittenAndRead) {
  CaseRecord record = small_case();
  record.step_ms = step_time({2.0, 3.0, 2.5}, {2, 1});
  Json json = to_json(record);
  EXPECT_EQ(json.at("step_ms").at("visits"), Json({2, 1}));
  EXPECT_EQ(case_record_from_json(json, "a:2"), record);
  for (const Json& wrong : {Json({2, 2}), Json({3, 0}), Json("3"), Json({1.5, 1.5})}) {
    json["step_ms"]["visits"] = wrong;
    EXPECT_NE(input_error([&] { case_record_from_json(json, "a:2"); }).find("a:2: step_ms.visits is not"),
              std::string::npos)
        << wrong;
  }
}

TEST(Record, AnOptionThatNothingHereKnowsIsKeptAndCanBeAList) {
  CaseRecord record = small_case();
  record.options["dim"] = {16, 32};
  record.options["nosuch"] = true;
  const CaseRecord again = case_record_from_json(to_json(record), "a:2");
  EXPECT_EQ(again, record);
  EXPECT_EQ(again.option("dim"), "[16,32]");
  EXPECT_EQ(again.option("nosuch"), "true");
}

TEST(Record, OptionsAreAnObjectAndChangedOnesTexts) {
  Json json = Json::parse(small_case_line);
  json["changed"] = {1};
  EXPECT_EQ(input_error([&] { case_record_from_json(json, "a:2"); }),
            "a:2: changed is not an array of texts; measure again");
  json["options"] = "none";
  EXPECT_EQ(input_error([&] { case_record_from_json(json, "a:2"); }), "a:2: options is not an object; measure again");
}

TEST(Record, PredictionMayBeAbsentOrNullOrANumber) {
  Json json = Json::parse(small_case_line);
  EXPECT_EQ(case_record_from_json(json, "a:2").predicted_ms, std::nullopt);
  json.erase("predicted_ms");
  EXPECT_EQ(case_record_from_json(json, "a:2").predicted_ms, std::nullopt);
  json["predicted_ms"] = 2.75;
  EXPECT_EQ(case_record_from_json(json, "a:2").predicted_ms, 2.75);
  json["predicted_ms"] = "2.75";
  EXPECT_EQ(input_error([&] { case_record_from_json(json, "a:2"); }),
            "a:2: predicted_ms is not a finite number of at least 0; measure again");
}

TEST(Record, PhasesMayHavePredictionsAndLeastTimes) {
  Json json = Json::parse(small_case_line);
  EXPECT_EQ(case_record_from_json(json, "a:2").phases[0].predicted_ms, std::nullopt);
  json["phases"]["lookup"]["predicted_ms"] = 1.75;
  json["phases"]["lookup"]["least_ms"] = 0.5;
  const CaseRecord record = case_record_from_json(json, "a:2");
  EXPECT_EQ(record.phases[0], (PhaseTime{"lookup", 1.5, 1.25, 4096, 1.75, 0.5}));
  EXPECT_EQ(to_json(record).at("phases"), json.at("phases"));
  json["phases"]["lookup"]["least_ms"] = -1.0;
  EXPECT_EQ(input_error([&] { case_record_from_json(json, "a:2"); }),
            "a:2: phases.lookup.least_ms is not a finite number of at least 0; measure again");
}

TEST(Record, WireErrorsMayBeAbsent) {
  Json json = Json::parse(small_case_line);
  EXPECT_EQ(case_record_from_json(json, "a:2").wire_error, std::nullopt);
  json["wire_error"] = {{"forward", {{"max", 0.5}, {"rms", 0.25}}}, {"backward", {{"max", 0.125}, {"rms", 0}}}};
  const CaseRecord record = case_record_from_json(json, "a:2");
  EXPECT_EQ(record.wire_error, (WireError{{0.5, 0.25}, {0.125, 0.0}}));
  EXPECT_EQ(case_record_from_json(to_json(record), "a:2"), record);
  json["wire_error"]["forward"].erase("rms");
  EXPECT_EQ(input_error([&] { case_record_from_json(json, "a:2"); }),
            "a:2: the record lacks 'wire_error.forward.rms'; measure again");
}

TEST(Record, UnknownFieldsAreKept) {
  Json json = Json::parse(small_case_line);
  json["busbw"] = {{"median", 1.5}};
  const CaseRecord record = case_record_from_json(json, "a:2");
  EXPECT_EQ(record.details.at("busbw").at("median"), 1.5);
  EXPECT_EQ(to_json(record), json);
}

TEST(Record, DetailsMayNotRepeatAField) {
  CaseRecord record = small_case();
  record.details["wrong"] = 0;
  EXPECT_THROW(to_json(record), std::invalid_argument);
}

TEST(Record, EachFieldIsRequired) {
  const Json whole = Json::parse(small_case_line);
  for (const auto& [name, value] : whole.items()) {
    if (name == "record" || name == "predicted_ms" || name == "seed") continue;
    Json json = whole;
    json.erase(name);
    EXPECT_EQ(input_error([&] { case_record_from_json(json, "results.jsonl:4"); }),
              "results.jsonl:4: the record lacks '" + name + "'; measure again");
  }
}

TEST(Record, NestedFieldsAreNamedInFull) {
  for (const std::string path :
       {"step_ms.median", "step_ms.low", "step_ms.high", "step_ms.n", "step_ms.samples", "phases.lookup.median_ms",
        "phases.lookup.mean_over_ranks_ms", "phases.lookup.bytes"}) {
    Json json = Json::parse(small_case_line);
    std::string pointer = '/' + path;
    std::ranges::replace(pointer, '.', '/');
    const Json::json_pointer location(pointer);
    json.at(location.parent_pointer()).erase(location.back());
    EXPECT_EQ(input_error([&] { case_record_from_json(json, "a:2"); }),
              "a:2: the record lacks '" + path + "'; measure again");
  }
}

TEST(Record, WrongTypesAndRangesAreNamed) {
  const auto error = [](const char* pointer, const Json& value) {
    Json json = Json::parse(small_case_line);
    json.at(Json::json_pointer(pointer)) = value;
    return input_error([&] { case_record_from_json(json, "a:2"); });
  };
  const std::string todo = "; measure again";
  EXPECT_EQ(error("/plan", 3), "a:2: plan is not a text" + todo);
  EXPECT_EQ(error("/ranks", 2.0), "a:2: ranks is not a whole number of at least 1" + todo);
  EXPECT_EQ(error("/ranks", 0), "a:2: ranks is not a whole number of at least 1" + todo);
  EXPECT_EQ(error("/wrong", -1), "a:2: wrong is not a whole number of at least 0" + todo);
  EXPECT_EQ(error("/sent_bytes_max", std::uint64_t{1} << 63),
            "a:2: sent_bytes_max is not a whole number of at least 0" + todo);
  EXPECT_EQ(error("/imbalance", nullptr), "a:2: imbalance is not a finite number of at least 0" + todo);
  EXPECT_EQ(error("/samples_per_s", -1.0), "a:2: samples_per_s is not a finite number of at least 0" + todo);
  EXPECT_EQ(error("/options/batch", 0), "a:2: options.batch is not a whole number of at least 1" + todo);
  EXPECT_EQ(error("/phases/lookup", 1.5), "a:2: phases.lookup is not an object" + todo);
  EXPECT_EQ(error("/step_ms/samples", 2.5), "a:2: step_ms.samples is not an array" + todo);
  EXPECT_EQ(error("/step_ms/samples/1", "3"), "a:2: step_ms.samples is not a finite number of at least 0" + todo);
  EXPECT_EQ(error("/step_ms/n", 4), "a:2: step_ms.n is not the number of samples, 3" + todo);
  EXPECT_EQ(input_error([] { case_record_from_json(Json::array(), "a:2"); }),
            "a:2: the record is not an object" + todo);
}

TEST(Record, AMessageStaysOnOneLine) {
  Json json = Json::parse(small_case_line);
  json["phases"]["look\nup"] = Json::object();
  EXPECT_EQ(input_error([&] { case_record_from_json(json, "a:2"); }),
            "a:2: the record lacks 'phases.look?up.median_ms'; measure again");
}

/// Any finite number >= 0, from the smallest subnormal to the largest.
double any_number(std::mt19937_64& random) {
  while (true) {
    const double x = std::bit_cast<double>(random() >> 1);
    if (std::isfinite(x)) return x;
  }
}

std::int64_t any_count(std::mt19937_64& random) { return static_cast<std::int64_t>(random() >> (1 + random() % 62)); }

std::string any_text(std::mt19937_64& random) {
  static const std::string pieces[] = {"a", "\"", "\\", "\n", "\t", "é", "表", " ", "{", "\x7f", "/"};
  std::string text;
  for (auto length = random() % 12; length > 0; --length) text += pieces[random() % std::size(pieces)];
  return text;
}

CaseRecord any_record(std::mt19937_64& random) {
  CaseRecord record;
  for (std::string* text : {&record.workload, &record.plan}) *text = any_text(random);
  for (const char* name : {"transfer", "exchange", "optimizer", "wire_forward", "wire_backward"})
    record.options[name] = any_text(random);
  for (const char* name : {"scale", "groups", "batch"}) record.options[name] = any_count(random) | 1;
  for (int i = 0; i < 3; ++i)
    if (random() % 2 == 0) record.changed.push_back(any_text(random));
  for (std::int64_t* count :
       {&record.ranks, &record.threads, &record.sent_bytes_max, &record.checked_steps, &record.wrong})
    *count = any_count(random) | 1;
  for (double* number :
       {&record.step_ms.median, &record.step_ms.low, &record.step_ms.high, &record.samples_per_s, &record.imbalance})
    *number = any_number(random);
  record.step_ms.samples.resize(1 + random() % 50);
  for (double& sample : record.step_ms.samples) sample = any_number(random);
  record.step_ms.n = std::ssize(record.step_ms.samples);
  for (const std::string_view name : phase_names) {
    if (random() % 2 == 0) continue;
    record.phases.push_back({std::string(name), any_number(random), any_number(random), any_count(random)});
    if (random() % 2 == 0) record.phases.back().predicted_ms = any_number(random);
    if (random() % 2 == 0) record.phases.back().least_ms = any_number(random);
  }
  if (random() % 2 == 0) record.predicted_ms = any_number(random);
  if (random() % 2 == 0) record.details["note"] = {any_text(random), any_count(random), any_number(random), nullptr};
  return record;
}

TEST(Record, ComesBackFromTextBitForBit) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const CaseRecord record = any_record(random);
    const CaseRecord again = case_record_from_json(Json::parse(to_json(record).dump()), "a:2");
    ASSERT_EQ(again, record);
    ASSERT_EQ(to_json(again).dump(), to_json(record).dump());
    for (std::size_t i = 0; i < record.step_ms.samples.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint64_t>(again.step_ms.samples[i]),
                std::bit_cast<std::uint64_t>(record.step_ms.samples[i]));
  }
}

}  // namespace
}  // namespace shardmark::results
