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
  EXPECT_EQ(error_of("{\"a\": }"), "a.json: not valid JSON at byte 7");
  EXPECT_EQ(error_of(""), "a.json: not valid JSON at byte 1");
  EXPECT_EQ(error_of("1e999"), "a.json: a number is out of range");
  EXPECT_EQ(error_of(R"({"a": 1, "b": {"a": 2}, "a": 3})"), "a.json: key \"a\" comes twice in one object");
}

TEST(ParseJson, deep_nesting_is_refused_before_it_exhausts_the_stack) {
  EXPECT_EQ(error_of(nested(32)), "no error");
  EXPECT_EQ(error_of(nested(33)), "a.json: JSON nested deeper than 32 levels");
  EXPECT_EQ(error_of(nested(200'000)), "a.json: JSON nested deeper than 32 levels");
  std::string objects;
  for (int level = 0; level < 200'000; ++level) objects += "{\"a\":";
  EXPECT_EQ(error_of(objects), "a.json: JSON nested deeper than 32 levels");
}

}  // namespace
}  // namespace shardmark::reference
