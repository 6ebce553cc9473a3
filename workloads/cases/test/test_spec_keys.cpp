// SPDX-License-Identifier: Apache-2.0
// The keys of specs as they are described: what the schema accepts is what the reader accepts.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "reference/input_file.hpp"
#include "workloads/cases/spec.hpp"
#include "workloads/cases/spec_key.hpp"

namespace shardmark::workloads {
namespace {

using Json = nlohmann::ordered_json;

bool has_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  return type == "integer" ? value.is_number_integer() : value.is_number();
}

/// What is wrong with a value by the words of JSON schema that ours has; empty: nothing.
std::string violation(const Json& value, const Json& schema, const std::string& path = "") {
  if (!has_type(value, schema.at("type"))) return path + ": no " + schema.at("type").get<std::string>();
  if (schema.contains("enum") && std::ranges::find(schema.at("enum"), value) == schema.at("enum").end())
    return path + ": none of the choices";
  if (schema.contains("minimum") && value < schema.at("minimum")) return path + ": below the minimum";
  if (schema.contains("maximum") && value > schema.at("maximum")) return path + ": above the maximum";
  if (schema.contains("items"))
    for (const Json& each : value)
      if (auto found = violation(each, schema.at("items"), path + "[]"); !found.empty()) return found;
  if (!schema.contains("properties")) return "";
  for (const auto& required : schema.at("required"))
    if (!value.contains(required.get<std::string>())) return path + ": lacks " + required.dump();
  for (const auto& [key, member] : value.items()) {
    if (!schema.at("properties").contains(key)) return path + ": unknown " + key;
    if (auto found = violation(member, schema.at("properties").at(key), path + "/" + key); !found.empty()) return found;
  }
  return "";
}

std::string refusal(const std::string& text) {
  const auto file = std::filesystem::temp_directory_path() / ("spec_keys_" + std::to_string(getpid()) + ".json");
  std::ofstream(file) << text;
  std::string message = "accepted";
  try {
    load_workload(file.string());
  } catch (const InputError& error) {
    message = std::string(error.what()).substr(file.string().size());
  }
  std::filesystem::remove(file);
  return message;
}

const std::filesystem::path root = std::filesystem::path(__FILE__).parent_path() / "../../..";

TEST(SpecKeys, SchemaAcceptsTheBuiltInSpecsAndThoseOfTheDocs) {
  const Json schema = spec_schema();
  int files = 0;
  for (const char* folder : {"workloads/cases/specs", "docs/examples"})
    for (const auto& entry : std::filesystem::directory_iterator(root / folder)) {
      if (entry.path().extension() != ".json") continue;
      const Json spec = Json::parse(file_text(entry.path()).value());
      EXPECT_EQ(violation(spec, schema), "") << entry.path();
      EXPECT_EQ(violation(to_json(workload_from_json(spec, "x")), schema), "") << entry.path();
      ++files;
    }
  EXPECT_GE(files, 18);
}

/// Calls visit(pointer, key) for each key of an object that the example has at `at`.
void for_each_key(const Json& example, const Json::json_pointer& at, const std::vector<SpecKey>& keys,
                  const std::function<void(const Json::json_pointer&, const SpecKey&)>& visit) {
  for (const SpecKey& key : keys) {
    visit(at / key.name, key);
    if (key.keys.empty() || !example.at(at).contains(key.name)) continue;
    for_each_key(example, key.list ? at / key.name / 0 : at / key.name, key.keys, visit);
  }
}

TEST(SpecKeys, ReaderAndSchemaRefuseTheSame) {
  const Json schema = spec_schema();
  Json example = Json::parse(file_text(root / "docs/examples/shop.json").value());
  example["tables"] = {{{"name", "a"},
                        {"rows", 100},
                        {"dim", 4},
                        {"optimizer", {{"name", "sgd"}}},
                        {"storage", "tt"},
                        {"tensor_train", {{"cache", {{"rows", 3}}}}}}};
  example["features"] = {{{"name", "f"}, {"table", "a"}}};
  example["published_steps"] = {{{"machine", "m"}, {"ranks", 1}, {"plan", "p"}, {"ms", 1.0}, {"source", "s"}}};
  example["published_lookup"] = {{"us", 1.0}, {"source", "s"}};
  ASSERT_EQ(violation(example, schema), "");
  ASSERT_EQ(refusal(example.dump()), "accepted");
  int visited = 0, required = 0;
  const auto same = [&](const Json& changed, const Json::json_pointer& at, const char* what) {
    EXPECT_EQ(refusal(changed.dump()) == "accepted", violation(changed, schema).empty())
        << at << " " << what << ": " << refusal(changed.dump()) << ", by the schema: " << violation(changed, schema);
  };
  for_each_key(example, Json::json_pointer(), described_spec(), [&](const auto& at, const SpecKey& key) {
    ++visited;
    required += key.required ? 1 : 0;
    EXPECT_FALSE(key.description.empty()) << at;
    Json changed = example;
    changed.at(at.parent_pointer()).erase(key.name);
    same(changed, at, "left out");
    changed[at] = nullptr;
    same(changed, at, "null");
    changed[at] = -1;
    if (key.name != "segment_rank" && key.least) same(changed, at, "-1");
    changed[at] = "nosuch";
    const bool names_table =
        at == Json::json_pointer("/tables/0/name") || at == Json::json_pointer("/features/0/table");
    if (!names_table) same(changed, at, "a text");
    changed = example;
    changed[at.parent_pointer()][key.name + "_too"] = 1;
    same(changed, at, "unknown key");
    if (key.usual.is_null() || key.name == "scale") return;
    changed = example;
    changed[at] = key.usual;
    same(changed, at, "the default");
  });
  EXPECT_GE(visited, 70);
  EXPECT_GE(required, 20);
}

TEST(SpecKeys, ErrorsNameLineAndColumnAndWhatWasMeant) {
  const std::string head = "{\"name\": \"x\", \"global_batch\": 8, \"optimizer\": {\"name\": \"sgd\"},\n";
  const std::string tables = " \"tables\": [{\"name\": \"users\", \"rows\": 4, \"dim\": 2}],\n";
  const std::string features = " \"features\": [{\"name\": \"f\", \"table\": \"users\"}]}";
  EXPECT_EQ(refusal(head + tables + features), "accepted");
  EXPECT_EQ(refusal(head + " \"tables\": [{\"name\": \"users\",\n   \"rows\": 0, \"dim\": 2}],\n" + features),
            ":3:4: tables[0]: \"rows\" must be at least 1, got 0");
  const auto rows = [&](const std::string& text) {
    return refusal(head + " \"tables\": [{\"name\": \"users\",\n   " + text + ", \"dim\": 2}],\n" + features);
  };
  EXPECT_EQ(rows("\"rows\": -2"), ":3:4: tables[0]: \"rows\" must be at least 1, got -2");
  EXPECT_EQ(rows("\"rows\": -1, \"keys\": 9"), "accepted");
  EXPECT_EQ(rows("\"rows\": -1"), "accepted");
  EXPECT_EQ(rows("\"keys\": 9, \"rows\": 4"),
            ":3:4: tables[0]: \"keys\", \"min_key\" and \"max_key\" are for rows -1, not 4");
  EXPECT_EQ(rows("\"min_key\": 9, \"rows\": 4"),
            ":3:4: tables[0]: \"keys\", \"min_key\" and \"max_key\" are for rows -1, not 4");
  EXPECT_EQ(rows("\"rows\": -1, \"min_key\": -9, \"max_key\": 9, \"keys\": 19"), "accepted");
  EXPECT_EQ(rows("\"keys\": 20, \"rows\": -1, \"min_key\": -9, \"max_key\": 9"),
            ":3:4: tables[0]: \"keys\" 20 are more than there are from -9 to 9");
  EXPECT_EQ(rows("\"max_key\": -10, \"rows\": -1, \"min_key\": -9"),
            ":3:4: tables[0]: \"max_key\" -10 is below \"min_key\" -9");
  EXPECT_EQ(refusal(head + tables + " \"features\": [{\"name\": \"f\",\n  \"table\": \"user\"}]}"),
            ":4:3: features[0]: no table is called \"user\"; did you mean 'users'?");
  EXPECT_EQ(refusal(head + tables + " \"featurs\": []}"), ":3:2: unknown key \"featurs\"; did you mean 'features'?");
  EXPECT_EQ(refusal(head + " \"replicate_row\": 3,\n" + tables + features),
            ":2:2: unknown key \"replicate_row\"; did you mean 'replicate_rows'?");
  EXPECT_EQ(refusal(head + tables + "}"),
            ":3:1: not valid JSON: parsing object key - unexpected '}'; expected string literal");
  EXPECT_EQ(refusal("\n" + head + tables + " \"plans\": []}"), ":1:1: key \"features\" is missing");
  EXPECT_EQ(refusal(head + " \"tables\": [\n  {\"name\": \"users\", \"dim\": 2}],\n" + features),
            ":3:3: tables[0]: key \"rows\" is missing");
  EXPECT_EQ(
      refusal(head + tables + " \"features\": [{\"name\": \"f\", \"table\": \"users\",\n  \"segment_rank\": 1}]}"),
      ":3:15: features[0]: segment_rank 1 pools segments, but the ids are not nested; give segments, how many a "
      "sample has");
  EXPECT_EQ(
      refusal(head +
              " \"tables\": [{\"name\": \"users\", \"rows\": 4, \"dim\": 2},\n  {\"name\": \"users\", \"rows\": 4, "
              "\"dim\": 2}],\n" +
              features),
      ":3:4: two tables are called \"users\"");
  EXPECT_EQ(refusal(head + " \"ids\": {\n  \"distribution\": \"powerlaw\"},\n" + tables + features),
            ":3:3: ids: unknown distribution 'powerlaw'; did you mean 'power_law'? valid: power_law, uniform");
}

}  // namespace
}  // namespace shardmark::workloads
