// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reference/error.hpp"
#include "reference/json.hpp"

namespace shardmark::reference {
namespace {

std::string error_of(const std::string& text) {
  try {
    parse_json(text, "a.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::string nested(int levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(ParseJson, says_what_is_wrong_and_where) {
  EXPECT_EQ(parse_json(R"({"b": 1, "a": [2, {"b": 3}]})").dump(), R"({"b":1,"a":[2,{"b":3}]})");
  EXPECT_EQ(error_of("{\"a\": }"),
            "a.json:1:7: not valid JSON: parsing value - unexpected '}'; expected '[', '{', or a literal");
  EXPECT_EQ(error_of(""),
            "a.json:1:1: not valid JSON: parsing value - unexpected end of input; expected '[', '{', or a literal");
  EXPECT_EQ(error_of("1e999"), "a.json:1:5: a number is out of range");
  EXPECT_EQ(error_of(R"({"a": 1, "b": {"a": 2}, "a": 3})"), "a.json:1:27: key \"a\" comes twice in one object");
}

TEST(ParseJson, deep_nesting_is_refused_before_it_exhausts_the_stack) {
  EXPECT_EQ(error_of(nested(32)), "no error");
  EXPECT_EQ(error_of(nested(33)), "a.json:1:33: JSON nested deeper than 32 levels");
  EXPECT_EQ(error_of(nested(200'000)), "a.json:1:33: JSON nested deeper than 32 levels");
  std::string objects;
  for (int level = 0; level < 200'000; ++level) objects += "{\"a\":";
  EXPECT_EQ(error_of(objects), "a.json:1:161: JSON nested deeper than 32 levels");
}

TEST(ParseJson, places_are_lines_and_columns) {
  EXPECT_EQ(error_of("{\n  \"a\": [1,\n    2],\n}").substr(0, 27), "a.json:4:1: not valid JSON:");
  const std::string text = "{\"a\": 1,\n \"list\": [4,\n  {\"b\": [5]},\n  {\"a/b\":\n 7}]}";
  const auto place = [&](const char* pointer) { return line_and_column(text, byte_of(text, pointer)); };
  EXPECT_EQ(place("/a"), "1:2");
  EXPECT_EQ(place("/list"), "2:2");
  EXPECT_EQ(place("/list/1"), "3:3");
  EXPECT_EQ(place("/list/1/b"), "3:4");
  EXPECT_EQ(place("/list/2/a~1b"), "4:4");
  EXPECT_EQ(place(""), "1:1");
  EXPECT_EQ(place("/nothing"), "1:1");
}

}  // namespace
}  // namespace shardmark::reference
